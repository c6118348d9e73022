"""Convex functions of a realization plan, used in constraints and distances.

A :class:`ConvexFunction` is f(x) = a · x + a₀ + Σ φ(B x − c): an affine part, and terms (:class:`Term`), each a norm, a
maximum, a sum of squares, a relative entropy, the tail of several losses, a polyhedral function or a cvxpy expression
of affine functions of x. The library represents all such functions in this form. Everything else is derived from it:

- ``value(x)`` in floats, or in fractions if ``is_rational``;
- ``slopes_at(x)`` and ``minorant(x, slopes)``: a linear lower bound that holds for any slopes. Slopes are the *dual
  certificate* of a function: one vector that concatenates the slopes of all terms;
- ``linear_rows()``: G x + K s ≤ h in floats or fractions, if ``is_linear``, and ``slopes_of(multipliers)``, the slopes
  given by the multipliers of these rows;
- ``cvxpy_parts(plan)``: the cone form, and ``cvxpy_slopes``, the slopes given by its multipliers;
- ``terms``: the input of the compiled loop of regret minimisation, each term as its ``code``, matrix and shifts.

Only cvxpy can evaluate an opaque term, that is, a cvxpy expression of an unrecognised type. It has a cone form, and
values and tangents through cvxpy, but no rows.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
