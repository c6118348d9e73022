NAME        
OBJSENSE
  MAX
ROWS
 N  Obj     
 E  plan_0  
 E  plan_1  
 E  plan_2  
 E  plan_3  
 E  plan_4  
 E  plan_5  
 E  plan_6  
 L  response_0
 L  response_1
 L  response_2
 L  response_3
 L  response_4
 L  response_5
 L  response_6
 L  response_7
 L  response_8
 L  response_9
 L  response_10
 L  response_11
 L  response_12
COLUMNS
    plan_0    plan_0    1
    plan_0    plan_1    -1
    plan_0    plan_3    -1
    plan_0    plan_5    -1
    plan_1    plan_1    1
    plan_1    plan_2    -1
    plan_1    response_1  0.714285714285714
    plan_1    response_5  0.714285714285714
    plan_2    plan_1    1
    plan_2    response_3  -0.714285714285714
    plan_2    response_4  1.42857142857143
    plan_2    response_7  -0.714285714285714
    plan_2    response_8  1.42857142857143
    plan_3    plan_2    1
    plan_3    response_2  0.714285714285714
    plan_3    response_6  0.714285714285714
    plan_4    plan_2    1
    plan_4    response_2  1.42857142857143
    plan_4    response_6  1.42857142857143
    plan_5    plan_3    1
    plan_5    plan_4    -1
    plan_5    response_5  0.714285714285714
    plan_5    response_9  -0.714285714285714
    plan_6    plan_3    1
    plan_6    response_7  -0.714285714285714
    plan_6    response_8  1.42857142857143
    plan_6    response_11  -0.714285714285714
    plan_6    response_12  -1.42857142857143
    plan_7    plan_4    1
    plan_7    response_6  0.714285714285714
    plan_7    response_10  0.714285714285714
    plan_8    plan_4    1
    plan_8    response_6  1.42857142857143
    plan_8    response_10  -1.42857142857143
    plan_9    plan_5    1
    plan_9    plan_6    -1
    plan_9    response_1  -0.714285714285714
    plan_9    response_9  -0.714285714285714
    plan_10   plan_5    1
    plan_10   response_3  -0.714285714285714
    plan_10   response_4  -1.42857142857143
    plan_10   response_11  -0.714285714285714
    plan_10   response_12  -1.42857142857143
    plan_11   plan_6    1
    plan_11   response_2  0.714285714285714
    plan_11   response_10  0.714285714285714
    plan_12   plan_6    1
    plan_12   response_2  -1.42857142857143
    plan_12   response_10  -1.42857142857143
    values_0  Obj       0.233333333333333
    values_0  response_0  1
    values_1  response_0  -1
    values_1  response_1  1
    values_1  response_2  1
    values_2  response_0  -1
    values_2  response_3  1
    values_2  response_4  1
    values_3  response_0  -1
    values_3  response_5  1
    values_3  response_6  1
    values_4  response_0  -1
    values_4  response_7  1
    values_4  response_8  1
    values_5  response_0  -1
    values_5  response_9  1
    values_5  response_10  1
    values_6  response_0  -1
    values_6  response_11  1
    values_6  response_12  1
RHS
    RHS_V     plan_0    1
BOUNDS
 FR BOUND     values_0
 FR BOUND     values_1
 FR BOUND     values_2
 FR BOUND     values_3
 FR BOUND     values_4
 FR BOUND     values_5
 FR BOUND     values_6
ENDATA
