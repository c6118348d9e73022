"""What can be solved: games, and optimisation problems posed on them."""
