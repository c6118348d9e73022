"""Bots for matches: by text, and bots that solve the positions they play."""
