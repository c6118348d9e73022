"""Monte Carlo counterfactual regret minimisation: compiled samplers on a game's histories."""
