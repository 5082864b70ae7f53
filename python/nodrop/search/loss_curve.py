"""Models of the mean loss rate over the load: two curves with a limit m and a spread a.

Each rises from 0 at no load to a straight line, on which all load above the limit is lost; the spread is the width of
the bend in between. `stretch` is the integral of a logistic function, `erf` the double integral of a Gaussian one.
Rates are logarithms, as they may be too small for a float.

Source: draft-vpolak-bmwg-plrsearch-03, section "Fitting Functions".
"""

import math
from collections.abc import Callable

Curve = Callable[[float], float]
"""Load to logarithm of the mean loss rate."""
Shape = Callable[[float, float], Curve]
"""Limit m and spread a, both in packets per second, to a curve."""

TINY = 1e-15
"""Least difference: rounding hides smaller ones if a load is tiny compared with the spread."""
ROOT_PI = math.sqrt(math.pi)
LOG_ROOT_PI = math.log(ROOT_PI)
ERFC_CONTINUED_FROM = 5.0
ERFC_TERMS = 12
"""From this value on erfc is a continued fraction, whose terms give 11 digits there."""


def make_stretch_curve(limit_pps: float, spread_pps: float) -> Curve:
    """Return r = a (1 + e^(m/a)) ln[(e^(b/a) + e^(m/a)) / (1 + e^(m/a))] / e^(m/a), as its logarithm."""
    at_zero = -limit_pps / spread_pps
    log_scale = math.log(spread_pps) + math.log1p(math.exp(at_zero))
    lost_at_zero = _compute_softplus(at_zero)

    def log_loss_rate(load_pps: float) -> float:
        at = (load_pps - limit_pps) / spread_pps
        if at < -30.0:  # both terms are almost exponential, and may be too small for a float
            return log_scale + at + math.log(-math.expm1(-max(TINY, load_pps / spread_pps)))
        return log_scale + math.log(max(TINY, _compute_softplus(at) - lost_at_zero))

    return log_loss_rate


def make_erf_curve(limit_pps: float, spread_pps: float) -> Curve:
    """Return the double integral of a Gaussian function, as its logarithm.

    r = [a (e^(-(b-m)^2/a^2) - e^(-m^2/a^2)) / sqrt(pi) + m erfc(m/a) + (b - m) erfc((m-b)/a)] / (1 + erf(m/a)),
    which is a [I((m-b)/a) - I(m/a)] / (1 + erf(m/a)) with I(z) the integral of erfc from z to infinity.
    """
    at_zero = limit_pps / spread_pps
    log_scale = math.log(spread_pps) - math.log1p(math.erf(at_zero))
    log_lost_at_zero = _log_integral_of_erfc(at_zero)

    def log_loss_rate(load_pps: float) -> float:
        log_lost = _log_integral_of_erfc((limit_pps - load_pps) / spread_pps)
        return log_scale + log_lost + math.log(-math.expm1(min(-TINY, log_lost_at_zero - log_lost)))

    return log_loss_rate


def _compute_softplus(at: float) -> float:
    """Return ln(1 + e^at)."""
    return max(at, 0.0) + math.log1p(math.exp(-abs(at)))


def _log_integral_of_erfc(z: float) -> float:
    """Return ln of the integral of erfc from z to infinity, e^(-z^2) / sqrt(pi) - z erfc(z)."""
    if z < ERFC_CONTINUED_FROM:
        return math.log(math.exp(-z * z) / ROOT_PI - z * math.erfc(z))
    # The two terms cancel, then underflow; with erfc as a continued fraction the difference is analytic.
    rest = 0.0
    for numerator in range(ERFC_TERMS, 0, -1):
        rest = numerator / 2 / (z + rest)
    return -z * z - LOG_ROOT_PI + math.log(rest / (z + rest))
