"""Programs as data, in floats and in fractions: the common format of models, solvers and files."""
