"""Depth-limited responses, solved step by step, and the value functions of their steps."""

from .value_functions import BorderValues, CallableValue, ValueFunction, as_value_function

__all__ = ["BorderValues", "CallableValue", "ValueFunction", "as_value_function"]
