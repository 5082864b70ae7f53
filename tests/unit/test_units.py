"""Input of users and output for readers."""

import pytest

from nodrop import units


@pytest.mark.parametrize(
    ("written", "load_pps"),
    [
        ("2Mpps", 2e6),
        ("150kpps", 150e3),
        ("1.5M", 1.5e6),
        ("1.5 Mpps", 1.5e6),
        ("1_000", 1000.0),
        ("1e6", 1e6),
        ("14.88mpps", 14.88e6),
        ("7pps", 7.0),
        (12, 12.0),
    ],
)
def test_packet_rates_are_understood(written: object, load_pps: float) -> None:
    assert units.parse_pps(written) == pytest.approx(load_pps)


@pytest.mark.parametrize(
    ("written", "ratio"), [("0.5%", 0.005), ("50 %", 0.5), ("0.005", 0.005), (0.005, 0.005), (0, 0)]
)
def test_ratios_are_understood(written: object, ratio: float) -> None:
    assert units.parse_ratio(written) == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("written", "duration_s"), [("30s", 30), ("200ms", 0.2), ("10 min", 600), ("1h", 3600), ("5us", 5e-6), (2.5, 2.5)]
)
def test_durations_are_understood(written: object, duration_s: float) -> None:
    assert units.parse_seconds(written) == pytest.approx(duration_s)


def test_bit_rates_are_understood() -> None:
    assert units.parse_bps("10Gbps") == 10e9
    assert units.parse_bps("100M") == 100e6
    assert units.parse_bps("5 Gbit/s") == units.parse_bps("5 gbit/s") == 5e9
    assert units.parse_bps("10GBps") == units.parse_bps("10 Gbyte/s") == 80e9


@pytest.mark.parametrize("written", ["fast", "", "5s", "1kk", "nan", "inf", "--5", None, True, [1]])
def test_what_is_no_packet_rate_is_refused_with_an_example(written: object) -> None:
    with pytest.raises(ValueError, match=r"is not a packet rate; write for example 150kpps, 2Mpps or 1\.5M"):
        units.parse_pps(written)


@pytest.mark.parametrize("written", ["5kpps", "0.5 percent", "%", True])
def test_what_is_no_ratio_is_refused_with_an_example(written: object) -> None:
    with pytest.raises(ValueError, match=r"is not a ratio; write for example 0\.5% or 0\.005"):
        units.parse_ratio(written)


@pytest.mark.parametrize("written", ["5k", "1m", "soon"])
def test_what_is_no_duration_is_refused_with_an_example(written: object) -> None:
    with pytest.raises(ValueError, match="is not a duration; write for example 30s, 200ms or 2min"):
        units.parse_seconds(written)


@pytest.mark.parametrize(
    ("load_pps", "text"),
    [
        (312_345.6, "312.3 kpps"),
        (14_880_952, "14.88 Mpps"),
        (999_960, "1.000 Mpps"),
        (999_940, "999.9 kpps"),
        (400, "400 pps"),
        (12.5, "12.5 pps"),
    ],
)
def test_packet_rates_read_with_four_digits(load_pps: float, text: str) -> None:
    assert units.format_pps(load_pps) == text


@pytest.mark.parametrize(
    ("ratio", "text"), [(0, "0 %"), (0.005, "0.5 %"), (1, "100 %"), (0.3333, "33.3 %"), (1e-7, "0.00001 %")]
)
def test_ratios_read_in_percent_and_never_round_to_nothing(ratio: float, text: str) -> None:
    assert units.format_ratio(ratio) == text


@pytest.mark.parametrize(
    ("duration_ns", "text"), [(12_345, "12.3 µs"), (999, "999 ns"), (1.5e6, "1.50 ms"), (2e9, "2.00 s")]
)
def test_short_times_read_with_three_digits(duration_ns: float, text: str) -> None:
    assert units.format_ns(duration_ns) == text


@pytest.mark.parametrize(
    ("duration_s", "text"), [(185, "3 min 05 s"), (12.54, "12.5 s"), (0.5, "0.5 s"), (0.025, "25.0 ms"), (0, "0 s")]
)
def test_durations_read_as_people_say_them(duration_s: float, text: str) -> None:
    assert units.format_seconds(duration_s) == text
