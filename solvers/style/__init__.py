"""Strategies in a style: targets, what they cost, and calibration of preferences."""
