"""Strategies for models of the opponent, and responses to observed opponents."""
