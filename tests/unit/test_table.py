"""Results as tables, read back with common readers: Python's csv and Arrow's Parquet."""

import builtins
import csv
import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.recorded import record_run
from tests.suts import Step

from nodrop import __version__
from nodrop.errors import ConfigError
from nodrop.export import table
from nodrop.export.table import ResultTable, to_csv, to_parquet
from nodrop.model.summary import Measure, Summary


def summary(run_id: str = "20260131T120000Z-3f9a2c", **changes: Any) -> Summary:
    fields: dict[str, Any] = {
        "run_id": run_id,
        "started_at": "2026-01-31T12:00:00.5+00:00",
        "wall_s": 38.5,
        "status": "complete",
        "sut": "vnf-l2",
        "path": "PVP",
        "chain_count": 1,
        "flow_count": 10000,
        "frame_size": "64",
        "frame_bytes": 64,
        "bidirectional": True,
        "asked": "ndr_pdr",
        "algorithm": "nodrop",
        "host": "lab1",
        "kernel": "6.1.0",
        "cpu_model": "a CPU",
        "backend": "af_packet",
        "version": __version__,
        "trial_count": 30,
        "measures": (
            Measure(key="ndr", text="NDR", unit="pps", better="higher", value=1e6, low=1e6, high=1.01e6),
            Measure(key="latency_p99_at_ndr", text="latency p99 at NDR", unit="ns", better="lower", value=45_000),
        ),
    }
    return Summary(**(fields | changes))


def csv_rows(content: ResultTable) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(to_csv(content), newline=""), strict=True))


def parquet(content: ResultTable) -> Any:
    return pytest.importorskip("pyarrow.parquet").read_table(io.BytesIO(to_parquet(content)))


def test_the_long_form_has_a_row_for_each_run_and_measure() -> None:
    rows = csv_rows(table.build_long_table([summary(), summary("other", measures=())], {"other": ["bad", "old"]}))
    assert [(row["run_id"], row["measure_key"], row["measure_value"]) for row in rows] == [
        ("20260131T120000Z-3f9a2c", "ndr", "1000000.0"),
        ("20260131T120000Z-3f9a2c", "latency_p99_at_ndr", "45000.0"),
        ("other", "", ""),
    ]
    assert rows[0]["started_at"] == "2026-01-31T12:00:00.500000Z"
    assert (rows[0]["bidirectional"], rows[0]["label"], rows[2]["tags"]) == ("true", "", "bad;old")


def test_the_wide_form_has_a_row_for_each_run_and_units_in_the_names_of_columns() -> None:
    rows = csv_rows(table.build_wide_table([summary(), summary("other", measures=())]))
    assert len(rows) == 2
    assert (rows[0]["ndr_pps"], rows[0]["ndr_high_pps"], rows[0]["ndr_limit"]) == ("1000000.0", "1010000.0", "sut")
    assert (rows[0]["latency_p99_at_ndr_ns"], rows[1]["ndr_pps"]) == ("45000.0", "")


def test_csv_keeps_commas_quotes_and_line_ends_in_a_label() -> None:
    """RFC 4180 section 2, rules 1, 5, 6 and 7."""
    label = 'one, "two"\r\nthree'
    content = table.build_wide_table([summary(label=label)])
    assert csv_rows(content)[0]["label"] == label
    assert '"one, ""two""\r\nthree"' in to_csv(content)
    assert to_csv(content).endswith("\r\n")


def test_parquet_has_typed_columns_with_units_and_says_who_wrote_it() -> None:
    arrow = pytest.importorskip("pyarrow")
    content = parquet(table.build_wide_table([summary(), summary("other", measures=())]))
    assert content.schema.field("started_at").type == arrow.timestamp("us", tz="UTC")
    assert content.schema.field("bidirectional").type == arrow.bool_()
    assert content.schema.field("trial_count").type == arrow.int64()
    ndr = content.schema.field("ndr_pps")
    assert (ndr.type, ndr.metadata[b"unit"], ndr.metadata[b"meaning"]) == (arrow.float64(), b"pps", b"NDR")
    assert content.schema.metadata[b"nodrop_version"] == __version__.encode()
    assert content["started_at"].to_pylist()[0] == datetime(2026, 1, 31, 12, 0, 0, 500_000, UTC)
    assert content["ndr_pps"].to_pylist() == [1e6, None]


def test_ten_thousand_runs_are_written_and_read_back_whole() -> None:
    runs = [summary(f"run-{number}") for number in range(10_000)]
    content = table.build_wide_table(runs)
    assert [row["run_id"] for row in csv_rows(content)] == [run.run_id for run in runs]
    assert parquet(content)["run_id"].to_pylist() == [run.run_id for run in runs]


@pytest.mark.parametrize("form", [table.build_long_table, table.build_wide_table])
def test_no_runs_at_all_are_a_table_with_columns_and_without_rows(form: Any) -> None:
    assert csv_rows(form([])) == []
    assert to_csv(form([])).startswith("run_id,source,started_at,")
    assert parquet(form([])).num_rows == 0


def test_trials_and_windows_add_up_to_what_the_run_counted(tmp_path: Path) -> None:
    result = record_run(tmp_path, Step(1e6))
    trials = csv_rows(table.build_trial_table(result))
    assert [int(row["trial_index"]) for row in trials] == [trial.index for trial in result.trials]
    for row, trial in zip(trials, result.trials, strict=True):
        assert float(row["loss_ratio"]) == trial.loss_ratio
        assert float(row["intended_load_pps"]) == trial.trial.intended_load_pps
    windows = csv_rows(table.build_window_table(result))
    assert windows
    for trial in result.trials:
        of_it = [row for row in windows if int(row["trial_index"]) == trial.index]
        assert sum(int(row["offered_count"]) for row in of_it) == trial.offered_count
        assert sum(int(row["received_count"]) for row in of_it) == trial.received_count
        assert all(float(row["start_s"]) < float(row["end_s"]) for row in of_it)
    assert parquet(table.build_window_table(result)).num_rows == len(windows)
    assert parquet(table.build_trial_table(result)).num_rows == len(trials)


def test_without_pyarrow_parquet_is_refused_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *arguments: Any, **keywords: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ConfigError, match=r"nodrop\[parquet\]"):
        to_parquet(table.build_wide_table([summary()]))
    assert table.serialize_table(table.build_wide_table([summary()]), "csv").startswith(b"run_id,")
