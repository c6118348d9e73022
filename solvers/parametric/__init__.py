"""Optima as functions of a parameter: a bound, a confidence, a style."""
