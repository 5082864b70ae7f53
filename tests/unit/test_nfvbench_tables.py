"""NFVbench's tables: the layout that its users know, from its files and nodrop's, readable at any width."""

import csv
import io
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from nodrop.report.nfvbench import render_nfvbench, write_nfvbench

FILES = Path(__file__).parents[1] / "nfvbench"


def read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((FILES / f"{name}.json").read_text())
    return content


def render_text(result: object, columns: int = 100) -> str:
    out = io.StringIO()
    Console(file=out, width=columns, highlight=False, markup=False, emoji=False).print(render_nfvbench(result))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def chain_result(result: dict[str, Any], chain: str = "PVP") -> dict[str, Any]:
    actual: dict[str, Any] = result["benchmarks"]["network"]["service_chain"][chain]["result"]["result"]
    return actual


def rows(result: object) -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(write_nfvbench(result, "csv"))) if row]


FIXED = """\
===== NFVBench Summary =====
Date: 2021-07-01 10:20:30
NFVBench version 5.0.3
Openstack Neutron:
  vSwitch: OPENVSWITCH
  Encapsulation: VLAN
Benchmarks:
> Networks:
  > Components:
    > Traffic Generator:
      Profile: trex-local
      Tool: TRex
  > Versions:
    > Traffic_Generator:
      build_date: Mar 05 2021
      build_time: 16:44:08
      built_by: hhaim
      mode: STL
      version: v2.89
  > Service chain:
    > PVP:
      > Traffic:
        Profile: traffic_profile_64B
        Bidirectional: True
        Flow count: 10000
        Service chains count: 2
        Compute nodes: ['nova:compute-5']

Run Summary:
L2                  Avg      Min      Max  25 %ile  75 %ile  99 %ile
Frame     Drop  Latency  Latency  Latency     lat.     lat.     lat.
Size      Rate   (usec)   (usec)   (usec)   (usec)   (usec)   (usec)
────────────────────────────────────────────────────────────────────
64     0.0058%       14       10      141       11       18       96

L2 frame size: 64

Run Config:
                                                        Requested  Actual TX
            Requested TX      Actual TX                   TX Rate       Rate  RX Rate
Direction     Rate (bps)     Rate (bps)  RX Rate (bps)      (pps)      (pps)    (pps)
─────────────────────────────────────────────────────────────────────────────────────
Forward    336.0000 Mbps  336.0000 Mbps  335.9610 Mbps    500,000    500,000  499,942
Reverse    336.0000 Mbps  336.0000 Mbps  336.0000 Mbps    500,000    500,000  500,000
Total      672.0000 Mbps  672.0000 Mbps  671.9610 Mbps  1,000,000  1,000,000  999,942

Forward Chain Packet Counters and Latency:
         TRex.  vswitch.     vswitch.TX.    TRex.
Chain    TX.p0   RX.eth0            eth1    RX.p1          Lost
───────────────────────────────────────────────────────────────
0      250,000        =>  -58 (-0.0232%)  249,942  58 (0.0232%)
1      250,000        =>              =>  250,000             0
total  500,000        =>  -58 (-0.0116%)  499,942  58 (0.0116%)

          Avg     Min     Max  25 %ile  75 %ile  99 %ile
         lat.    lat.    lat.     lat.     lat.     lat.
Chain  (usec)  (usec)  (usec)   (usec)   (usec)   (usec)
────────────────────────────────────────────────────────
0          17      10     138       11       18       96
1          17      10     139       11       18       96
total      17      10     139       11       18       96

Reverse Chain Packet Counters and Latency:
                                                      Avg     Min     Max  25 %ile  75 %ile  99 %ile
         TRex.  vswitch.  vswitch.    TRex.          lat.    lat.    lat.     lat.     lat.     lat.
Chain    TX.p1   RX.eth1   TX.eth0    RX.p0  Lost  (usec)  (usec)  (usec)   (usec)   (usec)   (usec)
────────────────────────────────────────────────────────────────────────────────────────────────────
0      250,000                      250,000     0      12      10     141       11       18       96
1      250,000                      250,000     0      11      10     132       11       18       96
total  500,000        =>       n/a  500,000     0      12      10     141       11       18       96"""


def test_a_fixed_rate_reads_as_nfvbenchs_users_know_it() -> None:
    assert render_text(read("fixed")) == FIXED


def test_a_search_lists_every_ndr_and_then_every_pdr() -> None:
    lines = render_text(read("ndr_pdr")).splitlines()
    begin = lines.index("Run Summary:")
    assert [line.split()[:4] for line in lines[begin + 5 : begin + 11]] == [
        ["NDR", "64", "10.0000", "Gbps"],
        ["NDR", "1518", "19.9805", "Gbps"],
        ["NDR", "IMIX", "17.5000", "Gbps"],
        ["PDR", "64", "15.0000", "Gbps"],
        ["PDR", "1518", "20.0000", "Gbps"],
        ["PDR", "IMIX", "17.5000", "Gbps"],
    ]
    assert "    NDR: 0.001" in lines
    assert "NDR search duration: 660 seconds" in lines
    assert any("significant difference between requested TX rate" in line for line in lines)


def test_goals_that_share_a_trial_are_shown_once() -> None:
    result, fixed = read("ndr_pdr"), chain_result(read("fixed"))["64"]
    for goal in ("ndr", "pdr"):
        chain_result(result)["64"][goal]["packet_path_stats"] = fixed["packet_path_stats"]
    titles = [line for line in render_text(result).splitlines() if "Chain Packet Counters" in line]
    assert titles == [f"NDR and PDR: {way} Chain Packet Counters and Latency:" for way in ("Forward", "Reverse")]


def test_color_is_the_terminals_own_and_only_for_losses() -> None:
    """Bold and the palette's red, which are readable on a dark and on a light background."""
    out = io.StringIO()
    screen = Console(
        file=out, width=100, force_terminal=True, color_system="truecolor", no_color=False, highlight=False
    )
    screen.print(render_nfvbench(read("fixed")))
    codes = set(re.findall(r"\x1b\[([0-9;]*)m", out.getvalue()))
    assert codes == {"0", "1", "31", "1;31"}


def test_a_loss_is_never_shown_as_none() -> None:
    assert "<0.0001%" in render_text(read("ndr_pdr"))


@pytest.mark.parametrize("name", ["fixed", "ndr_pdr", "unidirectional"])
@pytest.mark.parametrize("columns", [80, 100, 140])
def test_nothing_is_wider_than_the_terminal_and_nothing_is_cut_off(name: str, columns: int) -> None:
    text = render_text(read(name), columns)
    assert max(map(len, text.splitlines())) <= columns
    assert "…" not in text


def test_what_is_not_a_number_is_not_available() -> None:
    """A file of an early release, of a run that received nothing: NaN, Infinity, no percentiles."""
    lines = render_text(read("unidirectional")).splitlines()
    begin = lines.index("Run Summary:")
    assert lines[begin + 5].split() == ["64", "0.0000%", "n/a", "0", "0"]
    assert not [line for line in lines if "nan" in line.lower().split() or "inf" in line.lower().split()]


@pytest.mark.parametrize("value", [-1, float("nan"), 2**63 - 1])
def test_a_latency_that_was_not_measured_is_not_available(value: float) -> None:
    result = read("fixed")
    chain_result(result)["64"]["stats"]["overall"]["rx"].update(
        avg_delay_usec=value, min_delay_usec=value, max_delay_usec=value, lat_percentile={"99": value}
    )
    (summary, *_) = (line for line in render_text(result).splitlines() if re.match(r"\W*64 ", line))
    assert (summary.count("n/a"), "-1" in summary) == (4, False)


def test_a_negative_loss_is_said_to_be_frames_beyond_those_sent() -> None:
    result = read("fixed")
    chain_result(result)["64"]["stats"]["overall"]["drop_rate_percent"] = -2.0
    output = " ".join(render_text(result).split())
    assert "-2.0000%" in output
    assert "64: 2 % more frames came back than were sent (duplicates or foreign frames)" in output


def test_what_nfvbench_is_known_to_get_wrong_is_said_of_its_own_files_alone() -> None:
    one_way, requested = read("unidirectional"), read("ndr_pdr")
    assert "! traffic went one way: NFVbench reports the loss of the other way as drop rate" in render_text(one_way)
    chain_result(requested)["64"]["ndr"]["stats"]["total_tx_rate"] = 11_893_134
    report = "! NDR of 64: NFVbench requested 14,880,952 pps but sent 11,893,134 pps"
    assert report in render_text(requested)
    assert report not in render_text(read("ndr_pdr"))
    for result in (one_way, requested):
        own = render_text(result | {"nfvbench_version": "nodrop 0.1.0"})
        assert "traffic went one way" not in own
        assert "NFVbench requested" not in own


def test_any_field_may_be_missing_or_of_another_kind() -> None:
    """With any field removed or replaced, the rest is shown."""

    def fields(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        for key in value if isinstance(value, dict) else ():
            yield (*path, key)
            yield from fields(value[key], (*path, key))

    for name in ("fixed", "ndr_pdr"):
        whole = read(name)
        for path, put in zip(list(fields(whole))[::5], itertools.cycle((None, "text", [], {}, 0.5)), strict=False):
            broken = json.loads(json.dumps(whole))
            inner = broken
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = put
            assert write_nfvbench(broken, "markdown").startswith("# NFVBench Summary")
            write_nfvbench(broken, "csv")
            if len(path) < 12:
                assert render_text(broken).startswith("===== NFVBench Summary =====")


def test_percentiles_may_have_numbers_as_keys() -> None:
    result = read("fixed")
    chain_result(result)["64"]["stats"]["overall"]["rx"]["lat_percentile"] = {99: 96, 25: 11, 75: 18}
    assert render_text(result) == FIXED


def test_sixty_four_chains_have_a_row_each_in_order_and_a_total() -> None:
    result = read("fixed")
    forward = chain_result(result)["64"]["packet_path_stats"]["Forward"]
    forward["chains"] = {str(chain): forward["chains"]["0"] for chain in range(64)} | {"total": forward["chains"]["1"]}
    names = [row[2] for row in rows(result) if row[0].startswith("Forward")]
    assert names == [*map(str, range(64)), "total"]


def test_a_path_of_many_hops_is_continued_below_with_its_chains() -> None:
    result = read("fixed")
    forward = chain_result(result)["64"]["packet_path_stats"]["Forward"]
    forward["interfaces"] = ["TRex.TX.p0", *(f"vswitch.RX.eth{hop}" for hop in range(18)), "TRex.RX.p1"]
    for row in forward["chains"].values():
        row["packets"] = [10_000_000 - hop for hop in range(20)]
    text = render_text(result, 80)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    shown_hops = [f"eth{hop}" for hop in range(18)]
    assert all(hop in text for hop in shown_hops)


def test_a_summary_in_two_parts_names_goal_and_size_in_both() -> None:
    lines = render_text(read("ndr_pdr"), 80).splitlines()
    rows_of_both = [line.split()[:2] for line in lines if line.startswith(("NDR  ", "PDR  "))]
    sizes = [[goal, size] for goal in ("NDR", "PDR") for size in ("64", "1518", "IMIX")]
    assert rows_of_both == sizes * 2


def test_csv_has_plain_numbers_under_headings_with_their_units() -> None:
    table = [row for row in rows(read("fixed")) if row[0] in ("table", "Run Config")]
    heading = next(row for row in table if "Direction" in row)
    total = next(row for row in table if "Total" in row)
    by_name = dict(zip(heading, total, strict=True))
    assert by_name["frame size"] == "64"
    assert by_name["Actual TX Rate (bps)"] == "672000000"
    assert by_name["RX Rate (pps)"] == "999942"
    counters = next(row for row in rows(read("fixed")) if row[0].startswith("Forward") and row[2] == "0")
    assert counters[3:8] == ["250000", "250000", "249942", "249942", "58"]


def test_csv_leaves_empty_what_is_not_known() -> None:
    summary = next(row for row in rows(read("unidirectional")) if row[0] == "Run Summary")
    assert summary == ["Run Summary", "64", "0", "", "0", "0"]


def test_markdown_tables_have_as_many_cells_in_every_row() -> None:
    text = write_nfvbench(read("fixed"), "markdown")
    tables = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables) == 4
    for table in tables:
        assert len({line.count(" | ") for line in table}) == 1
        assert set(table[1]) <= set("| :-")
    assert "| total | 500,000 | =\\> | -58 (-0.0116%) | 499,942 | 58 (0.0116%) |" in text


def test_a_file_of_nothing_has_a_header_and_no_tables() -> None:
    assert render_text({}).splitlines()[:3] == [
        "===== NFVBench Summary =====",
        "Date: unknown",
        "NFVBench version unknown",
    ]
    assert write_nfvbench({}, "csv") == ""
