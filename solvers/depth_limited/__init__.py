"""Depth-limited responses, solved step by step, and the value functions of their steps."""

from .method import as_value_function
from .value_functions import BorderValues, CallableValue, ValueFunction

__all__ = ["BorderValues", "CallableValue", "ValueFunction", "as_value_function"]
