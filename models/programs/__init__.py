"""Programs as data, in floats and in fractions: what models write down and solvers and files read."""
