"""Strategies in a style: targets, their costs, and calibration of preferences."""
