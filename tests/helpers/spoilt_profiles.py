"""Profiles that are spoilt at one infoset."""

from treeplex import Profile, Strategy


def spoilt(game, profile, player, infoset, played):
    """Return a profile in which one infoset plays otherwise."""
    behaviour = profile[player].to_dict() | {infoset: played}
    return Profile([Strategy.from_dict(game, player, behaviour) if each.player == player else each for each in profile])
