"""Reports of NFVbench's results: the figures are present, and missing ones are named."""

from pathlib import Path

from tests.recorded import record_run
from tests.running import MILLION

from nodrop.report.document import build_document
from nodrop.report.document.blocks import Table
from nodrop.report.document.imported import build_imported_document
from nodrop.store.selection import select_results

NDR_PDR = Path(__file__).parents[1] / "nfvbench" / "ndr_pdr.json"


def test_the_figures_of_a_file_of_nfvbench_are_shown_with_whose_they_are() -> None:
    summaries = [each.summary for each in select_results([str(NDR_PDR)])]
    output = build_imported_document(summaries)
    assert "NFVbench" in output.title
    assert output.trust_tone == "caution"
    (figures,) = (
        block for block in output.sections[0].blocks if isinstance(block, Table) and block.caption == "Figures"
    )
    assert [row[4].key for row in figures.rows] == [
        measure.value for summary in summaries for measure in summary.measures
    ]


def test_runs_of_both_stand_in_one_report(tmp_path: Path) -> None:
    summaries = [each.summary for each in select_results([str(NDR_PDR)])]
    output = build_document([record_run(tmp_path, MILLION)], imported=summaries)
    assert "imported" in {section.name for section in output.sections}
