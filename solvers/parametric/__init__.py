"""Optima as functions of a number: a bound, a confidence, a style."""
