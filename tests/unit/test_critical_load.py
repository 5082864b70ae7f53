"""Models of the soak search: curves as the draft defines them, a posterior that brute force confirms."""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext

import pytest

from nodrop.search.critical_load import LoadObservation, estimate_critical_load
from nodrop.search.loss_curve import Shape, make_erf_curve, make_stretch_curve
from nodrop.search.quadrature import integrate

MIN_PPS, MAX_PPS, TARGET = 1e4, 1e7, 1e-7

Drafted = Callable[[float, float, float], float]
"""Load, limit and spread to loss rate."""


def draft_stretch(b: float, m: float, a: float) -> float:
    """draft-vpolak-bmwg-plrsearch-03, "Stretch Function", verbatim."""
    e = math.exp
    return (a * (1 + e(m / a)) * math.log((e(b / a) + e(m / a)) / (1 + e(m / a)))) / e(m / a)


def draft_erf(b: float, m: float, a: float) -> float:
    """draft-vpolak-bmwg-plrsearch-03, "Erf Function", verbatim."""
    e = math.exp
    return (
        (a * (e(-((b - m) ** 2 / a**2)) - e(-(m**2 / a**2)))) / math.sqrt(math.pi)
        + m * math.erfc(m / a)
        + (b - m) * math.erfc((-b + m) / a)
    ) / (1 + math.erf(m / a))


CURVES: list[tuple[Shape, Drafted]] = [(make_stretch_curve, draft_stretch), (make_erf_curve, draft_erf)]


@pytest.mark.parametrize(("curve", "drafted"), CURVES)
@pytest.mark.parametrize("spread_pps", [3e5, 1e6, 3e6])
@pytest.mark.parametrize("load_pps", [1e5, 1e6, 3e6, 3.3e6, 5e6, 2e7])
def test_curves_are_those_of_the_draft_where_its_formulas_can_be_computed(
    curve: Shape, drafted: Drafted, load_pps: float, spread_pps: float
) -> None:
    expected = drafted(load_pps, 3.3e6, spread_pps)
    if expected > 1e-6:  # Below, its terms cancel.
        assert curve(3.3e6, spread_pps)(load_pps) == pytest.approx(math.log(expected), rel=1e-6)


@pytest.mark.parametrize("spreads_below", [8, 25, 29.9, 30.1, 60, 700])
def test_the_tail_of_stretch_is_exact_far_below_the_limit(spreads_below: float) -> None:
    load_pps, spread_pps = 1e6, 1e3
    limit_pps = load_pps + spreads_below * spread_pps
    with localcontext() as context:
        context.prec = 400
        b, m, a = (Decimal(each) for each in (load_pps, limit_pps, spread_pps))
        one, to_load, to_limit = Decimal(1), (b / a).exp(), (m / a).exp()
        rate = a * (one + to_limit) * ((to_load + to_limit) / (one + to_limit)).ln() / to_limit
        expected = float(rate.ln())
    assert make_stretch_curve(limit_pps, spread_pps)(load_pps) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("z", [2.0, 3.0, 4.9, 5.1, 6.0, 9.0, 26.0])
def test_the_tail_of_erf_is_exact_far_below_the_limit(z: float) -> None:
    """Compare with the power series of erf, in 900 digits."""
    load_pps, spread_pps = 1e6, 1e3
    with localcontext() as context:
        context.prec = 900
        exact_z, pi = Decimal(z), _pi()
        term = total = exact_z
        count = 0
        while abs(term) > Decimal(10) ** -800:
            count += 1
            term = -term * exact_z * exact_z / count
            total += term / (2 * count + 1)
        erfc = 1 - 2 / pi.sqrt() * total
        lost = (-exact_z * exact_z).exp() / pi.sqrt() - exact_z * erfc
        expected = math.log(spread_pps / 2) + float(lost.ln())  # far from zero load, so that its term vanishes
    result = make_erf_curve(load_pps + z * spread_pps, spread_pps)(load_pps)
    assert result == pytest.approx(expected, abs=1e-9)


def _pi() -> Decimal:
    """Return pi by Machin's formula, in the precision of the context."""

    def arctan_of_one_over(x: int) -> Decimal:
        total = term = Decimal(1) / x
        count = 1
        while abs(term) > Decimal(10) ** -880:
            term = -term / (x * x)
            count += 2
            total += term / count
        return total

    return 4 * (4 * arctan_of_one_over(5) - arctan_of_one_over(239))


def brute_force(
    observations: list[LoadObservation], drafted: Drafted, target: float, steps: int = 120
) -> tuple[float, float]:
    """Return mean and variance of the critical load's logarithm, from a fine even grid over the draft's prior."""
    weighed = []
    for i in range(steps):
        for j in range(steps):
            x, y = -1 + (2 * i + 1) / steps, -1 + (2 * j + 1) / steps
            m = MAX_PPS * (1 / (x + 1) - 0.5) + 1
            a = m ** ((y + 1) / 2)

            def loss_rate(b: float, m: float = m, a: float = a) -> float:
                try:
                    return max(1e-300, drafted(b, m, a))
                except OverflowError:
                    return max(1e-300, b - m)

            log_likelihood = 0.0
            for load_pps, intended_count, lost_count in observations:
                mean = loss_rate(load_pps) * intended_count / load_pps
                log_likelihood -= lost_count * math.log1p(1 / mean) + math.log1p(mean)
            weighed.append((log_likelihood, loss_rate))
    highest = max(log_likelihood for log_likelihood, _ in weighed)
    stored = [(math.exp(each - highest), rate) for each, rate in weighed if each > highest - 20]
    values = [(weight, math.log(_critical_load(rate, target))) for weight, rate in stored]
    whole = math.fsum(weight for weight, _ in values)
    mean = math.fsum(weight * value for weight, value in values) / whole
    return mean, math.fsum(weight * (value - mean) ** 2 for weight, value in values) / whole


def _critical_load(loss_rate: Callable[[float], float], target: float) -> float:
    low, high = MIN_PPS, MAX_PPS
    for _ in range(40):
        middle = (low + high) / 2
        if loss_rate(middle) / middle > target:
            high = middle
        else:
            low = middle
    return middle


@pytest.mark.parametrize(
    "observations",
    [
        [LoadObservation(5e6, 5_000_000, 1_700_000)],
        [LoadObservation(5e6, 5_000, 1_700), LoadObservation(1e7, 10_000, 6_500), LoadObservation(3.3e6, 3_300, 20)],
        [LoadObservation(5e6, 500, 0), LoadObservation(8e6, 800, 10), LoadObservation(7e6, 700, 1)],
        [LoadObservation(4e6, 400, 0), LoadObservation(4e6, 400, 0)],
    ],
)
def test_the_posterior_is_that_of_a_fine_even_grid_over_the_prior(observations: list[LoadObservation]) -> None:
    """Use a target of 1 %, with which the draft's formulas are numerically safe."""
    result = estimate_critical_load(tuple(observations), 0.01, MIN_PPS, MAX_PPS)
    for estimate, (_, drafted) in zip((result.stretch, result.erf), CURVES, strict=True):
        mean, variance = brute_force(observations, drafted, 0.01)
        assert estimate.mean == pytest.approx(mean, abs=0.1 * math.sqrt(variance))
        assert math.sqrt(estimate.variance) == pytest.approx(math.sqrt(variance), rel=0.1)


def test_the_estimates_of_both_curves_are_combined_as_published() -> None:
    result = estimate_critical_load((LoadObservation(5e6, 5_000_000, 1_700_000),), TARGET, MIN_PPS, MAX_PPS)
    mean = (result.stretch.mean + result.erf.mean) / 2
    sd = math.sqrt(
        (result.stretch.variance + result.erf.variance) / 2 + ((result.stretch.mean - result.erf.mean) / 2) ** 2
    )
    low_pps, high_pps = math.exp(mean - sd), math.exp(mean + sd)
    assert result.mean_and_sd_pps == pytest.approx(((low_pps + high_pps) / 2, (high_pps - low_pps) / 2))


def test_more_of_the_same_evidence_narrows_the_estimate() -> None:
    around = [
        LoadObservation(3.30e6, 16_500_000, 0),
        LoadObservation(3.34e6, 16_700_000, 2),
        LoadObservation(3.36e6, 16_800_000, 9),
    ]
    few, many = (estimate_critical_load(tuple(around * count), TARGET, MIN_PPS, MAX_PPS) for count in (2, 20))
    assert many.mean_and_sd_pps[1] < few.mean_and_sd_pps[1] / 2
    assert abs(many.mean_and_sd_pps[0] - 3.33e6) < 0.02e6


@pytest.mark.parametrize(
    ("log_function", "low", "high", "expected"),
    [
        (lambda x: -x * x / 2, -1e3, 1e3, math.sqrt(2 * math.pi)),
        (lambda x: -((x - 0.123) ** 2) / 2e-12, -1.0, 1.0, math.sqrt(2e-12 * math.pi)),
        (lambda x: -1e9 * max(0.0, x - 0.5), 0.0, 1.0, 0.5),
        (lambda _x: -1e6, 0.0, 3.0, None),
    ],
)
def test_integrals_are_found_where_their_mass_is(
    log_function: Callable[[float], float], low: float, high: float, expected: float | None
) -> None:
    log_whole, nodes = integrate(log_function, (low, high), 60)
    assert log_whole == pytest.approx(math.log(expected) if expected else -1e6 + math.log(3), rel=0.02)
    assert math.fsum(node.share for node in nodes) == pytest.approx(1.0)
    assert len(nodes) == 60


def test_an_integral_puts_its_mean_and_spread_where_they_are() -> None:
    _, nodes = integrate(lambda x: -((x - 3) ** 2) / 2, (-100.0, 0.0, 90.0), 60)
    mean = math.fsum(node.share * node.at for node in nodes)
    assert mean == pytest.approx(3, abs=0.02)
    assert math.fsum(node.share * (node.at - mean) ** 2 for node in nodes) == pytest.approx(1, rel=0.05)
