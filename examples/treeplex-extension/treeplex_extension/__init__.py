"""A game, a problem, a method, an opponent and a suite for treeplex, found by the entry points in pyproject.toml."""
