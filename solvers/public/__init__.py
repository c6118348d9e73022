"""Regret minimisation on games in public form."""
