"""Rates as users write them, and capacities of links."""

import pytest

from nodrop.errors import ConfigError
from nodrop.rates import FixedRate, SearchedRate, compute_fixed_load_pps, compute_theoretical_rate, parse_rate

TEN_GBPS = 10_000_000_000
BOTH_WAYS = (0.5, 0.5)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("ndr", ("NDR",)),
        ("PDR", ("PDR",)),
        ("ndr_pdr", ("NDR", "PDR")),
        ("PDR_ndr", ("PDR", "NDR")),
        (" Ndr ", ("NDR",)),
    ],
)
def test_what_to_search_for_is_understood_in_any_order_and_case(text: str, labels: tuple[str, ...]) -> None:
    assert parse_rate(text) == SearchedRate(labels)


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [
        ("10kpps", 10e3, "pps"),
        ("1Mpps", 1e6, "pps"),
        ("14.88mpps", 14.88e6, "pps"),
        ("100000pps", 1e5, "pps"),
        ("1_000 pps", 1e3, "pps"),
        ("2.5Gbps", 2.5e9, "bps"),
        ("2.5gbps", 2.5e9, "bps"),
        ("1000bps", 1e3, "bps"),
        ("80kBps", 640e3, "bps"),
        ("80 MBps", 640e6, "bps"),
        ("2Gibps", 2 * 2**30, "bps"),
        ("2 GiBps", 16 * 2**30, "bps"),
        ("1Tbps", 1e12, "bps"),
        ("50%", 0.5, "ratio"),
        ("100 %", 1.0, "ratio"),
        (".5%", 0.005, "ratio"),
    ],
)
def test_fixed_rates_are_understood(text: str, amount: float, unit: str) -> None:
    rate = parse_rate(text)
    assert isinstance(rate, FixedRate)
    assert rate.amount == pytest.approx(amount)
    assert rate.unit == unit


@pytest.mark.parametrize("written", ["", "fast", "10", 10000, 0.5, True, None, "10k", "10kpp", "mrr", "ndr_x"])
def test_what_is_no_rate_is_refused_with_the_forms_there_are(written: object) -> None:
    with pytest.raises(ValueError, match=r"write for example 10kpps, 1Mpps, 2\.5Gbps, 50%, or ndr, pdr, ndr_pdr"):
        parse_rate(written)


@pytest.mark.parametrize("text", ["0pps", "-1kpps", "0%", "100.1%", "200%"])
def test_a_rate_of_nothing_or_of_more_than_all_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="above 0"):
        parse_rate(text)


@pytest.mark.parametrize("text", ["10MBPS", "10GB/S"])
def test_capitals_leave_open_whether_bits_or_bytes_are_meant(text: str) -> None:
    with pytest.raises(ValueError, match=r"is either bits or bytes; write .bps for bits, .Bps for bytes"):
        parse_rate(text)


@pytest.mark.parametrize("text", ["ibps", "5ibps", "10 Gips", "10GBbps", "1kipps"])
def test_a_bit_rate_has_a_unit_that_there_is(text: str) -> None:
    with pytest.raises(ValueError, match="write for example"):
        parse_rate(text)


@pytest.mark.parametrize(
    ("text", "ratios", "load_pps"),
    [
        ("10kpps", BOTH_WAYS, 10e3),
        ("10kpps", (1.0,), 10e3),
        # Half of the line rate each way, so half of two line rates in total.
        ("50%", BOTH_WAYS, 14_880_952),
        ("50%", (1.0,), 7_440_476),
        # The fuller direction has the percentage.
        ("50%", (0.8, 0.2), 7_440_476 / 0.8),
        # 84 bytes on the wire, 672 bits.
        ("672Mbps", BOTH_WAYS, 1e6),
        ("20Gbps", BOTH_WAYS, 29_761_904),
        ("100%", BOTH_WAYS, 29_761_904),
    ],
)
def test_a_rate_is_a_load_over_all_directions(text: str, ratios: tuple[float, ...], load_pps: float) -> None:
    rate = parse_rate(text)
    assert isinstance(rate, FixedRate)
    assert compute_fixed_load_pps(rate, 64, ratios, TEN_GBPS) == pytest.approx(load_pps, rel=1e-6)


@pytest.mark.parametrize(
    ("text", "frame_bytes", "ratios", "figures"),
    [
        ("1.7Mpps", 1518, BOTH_WAYS, r"1.700 Mpps\), which is 1.625 Mpps or 20.00 Gb/s"),
        ("14.9Mpps", 64, (1.0,), r"14.90 Mpps\), which is 14.88 Mpps or 10.00 Gb/s"),
        ("20.1Gbps", 64, BOTH_WAYS, r"20.10 Gb/s\), .* 20.00 Gb/s"),
    ],
)
def test_more_than_the_line_rate_is_refused_with_both_figures(
    text: str, frame_bytes: int, ratios: tuple[float, ...], figures: str
) -> None:
    rate = parse_rate(text)
    assert isinstance(rate, FixedRate)
    with pytest.raises(ConfigError, match=figures):
        compute_fixed_load_pps(rate, frame_bytes, ratios, TEN_GBPS)


def test_headers_added_on_the_way_lower_what_can_reach_the_sut() -> None:
    # NFVbench's manual, section on user info: 64 bytes and 28 more on 2 x 10 Gb/s.
    most = compute_theoretical_rate(64, 28, TEN_GBPS, 2)
    assert int(most.rate_pps) == 22_321_428
    assert most.rate_bps == pytest.approx(15e9)
