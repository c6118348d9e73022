"""Games and strategies in other people's formats: files, networkx, OpenSpiel, pictures."""
