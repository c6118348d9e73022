"""What can be solved: games, and the problems posed on them as optimisation models."""
