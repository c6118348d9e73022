"""Depth-limited responses, solved step by step."""
