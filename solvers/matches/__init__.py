"""Bots of matches: by text, and those that solve what they play."""
