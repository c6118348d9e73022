"""A game, a problem, a method, an opponent, a bot and a suite for treeplex, found by entry points in pyproject.toml."""
