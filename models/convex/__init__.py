"""Convex functions of a realization plan: what constraints bound and what distances measure.

A :class:`ConvexFunction` is f(x) = a · x + a₀ + Σ φ(B x − c): an affine part, and terms (:class:`Term`), each a norm, a
maximum, a sum of squares, a relative entropy, the tail of several losses, a polyhedral function or a cvxpy expression
of affine functions of x. It is the only form in which the library holds such functions. Everything else is read off it:

- ``value(x)`` in floats, or in fractions where ``is_rational``;
- ``slopes_at(x)`` and ``minorant(x, slopes)``: a linear lower bound that holds whatever the slopes are. Slopes are the
  *dual certificate* of a function: one vector, the slopes of all terms one after the other;
- ``linear_rows()``: G x + K s ≤ h in floats or fractions, where ``is_linear``, and ``slopes_of(multipliers)``, the
  slopes that the multipliers of these rows are;
- ``cvxpy_parts(plan)``: the cone form, and ``cvxpy_slopes``, the slopes that its multipliers are;
- ``terms``: what the compiled loop of regret minimisation takes, each term by its ``code``, matrix and shifts.

An opaque term, a cvxpy expression that is none of the others, goes to cvxpy alone: it has a cone form, and values and
tangents through cvxpy, but no rows.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
