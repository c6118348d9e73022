"""Counterfactual regret minimisation in one compiled loop."""
