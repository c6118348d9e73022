"""Models of the opponent made into strategies, and strategies that counter what logs show."""
