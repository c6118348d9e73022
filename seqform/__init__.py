"""Game trees, their sequence forms, and everything computed on them without an optimiser."""
