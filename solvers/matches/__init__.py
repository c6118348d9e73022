"""Bots for matches: bots specified by strings, and bots that solve the positions they play."""
