"""Workloads of VNFs: tables 1 to 3 of ETSI GS NFV-PER 001, complete."""

from collections import Counter

import pytest

from nodrop.errors import ConfigError
from nodrop.host.check import CHECK_RULES
from nodrop.host.check.rfc8204 import RECORD_ITEMS
from nodrop.host.workload import (
    CHECKS,
    COLUMNS,
    RECORDS,
    UNLISTED_FUNCTIONS,
    find_function,
    list_features,
    list_functions,
    list_standings,
    read_table,
)


def classes(name: str) -> set[str]:
    return {each.name for each in find_function(name).classes}


def test_table_1_has_every_row_and_mark_of_the_document():
    # counted in the published text: 9 use cases, of which 3 name no VNF, and 24 VNFs
    rows = read_table(1)[2:]
    assert len(rows) == 27
    assert sum(bool(row[0]) for row in rows) == 9
    assert [row[0][0] for row in rows if row[1] == "N/A"] == ["1", "2", "7"]
    assert all(len(row) == 2 + len(COLUMNS) for row in read_table(1))
    marks = Counter(place for row in rows for place, mark in enumerate(row[2:]) if mark)
    assert [marks[place] for place in range(len(COLUMNS))] == [3, 12, 3, 17, 8, 11, 5, 5, 17, 2]
    assert {mark for row in rows for mark in row[2:]} == {"", "X"}


def test_table_2_and_3_have_every_row_and_mark_of_the_document():
    assert len(read_table(2)) == 1 + 25
    assert len(read_table(3)) == 1 + 35
    assert [sum(bool(row[place]) for row in read_table(2)[1:]) for place in range(1, 5)] == [17, 3, 8, 4]
    assert [sum(bool(row[place]) for row in read_table(3)[1:]) for place in range(1, 6)] == [27, 16, 3, 8, 6]
    assert sum(each.is_hypervisors for each in list_features()) == 12  # rows in bold


def test_slips_of_the_document_are_kept_in_the_tables():
    assert read_table(2)[10][0] == "IO Large pages support"
    assert read_table(3)[10][0] == "<b>I/O Large pages support</b>"
    assert read_table(1)[0][8:] == ("Signal processing", "", "Storage", "")
    assert read_table(1)[1][8:] == ("Signal processing", "Non-intensive", "R/W Intensive", "")


def test_every_row_of_table_2_is_found_in_table_3():
    assert sum(each.bare_metal is not None for each in list_features()) == 25


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("PE", {"intermediate NF", "intermediate NF with encryption", "routing", "authentication", "non-intensive"}),
        ("DPI", {"intermediate NF", "R/W intensive"}),
        ("CDN Cache Node", {"edge NF", "R/W intensive"}),
        ("PCRF", {"routing", "session management", "non-intensive"}),
        ("BBU", {"session management", "signal processing"}),
        ("FW", {"intermediate NF", "non-intensive"}),
    ],
)
def test_a_vnf_has_the_workloads_that_table_1_marks(name, expected):
    assert classes(name) == expected


def test_what_the_headings_leave_unclear_is_told_as_unclear():
    unclear = {each.name for each in list_functions() if any(one.unclear for one in each.classes)}
    assert unclear == {"AS", "OLT", "DSLAM", "ONU", "ONT"}


@pytest.mark.parametrize("name", ["BNG", "bras", "vBRAS", "vbng", "Broadband Network Gateway"])
def test_the_bng_is_no_row_of_table_1_and_is_told_by_the_text(name):
    function = find_function(name)
    assert function in UNLISTED_FUNCTIONS
    assert function.name not in {row[1] for row in read_table(1)}
    assert "intermediate NF" in classes(name)
    assert {each.clause for each in function.classes} == {"clause 6.1", "clause 5"}
    assert "no row of table 1" in function.note


@pytest.mark.parametrize(("text", "name"), [("sgw", "S-GW"), ("s-gw", "S-GW"), ("e-cpe", "E-CPE (Enterprise-CPE)")])
def test_letters_and_hyphens_do_not_matter(text, name):
    assert find_function(text).name == name


def test_a_near_miss_is_told_the_name_that_was_meant():
    with pytest.raises(ConfigError, match=r"did you mean BNG\?"):
        find_function("BGN")
    with pytest.raises(ConfigError, match="run nodrop host workload for the list"):
        find_function("xyzzy")


def test_na_is_no_vnf():
    with pytest.raises(ConfigError):
        find_function("N/A")


def test_encryption_makes_the_instruction_set_matter():
    why = {
        name: {each.feature.name: each.why for each in list_standings(find_function(name))} for name in ("S-GW", "P-GW")
    }
    extended = "Extended instruction set (e.g. cryptography)"
    assert "encrypted" in why["S-GW"][extended]
    assert "encrypted" not in why["P-GW"][extended]


def test_only_what_the_document_analyzed_is_told_as_analyzed():
    def report(name: str) -> set[str]:
        return {each.standing for each in list_standings(find_function(name))}

    assert report("BNG") == {"analysed"}
    assert report("MME") == {"less", "open"}
    assert report("CDN Cache Node") == {"open"}


def test_features_link_to_checks_that_exist_and_every_check_is_about_a_feature():
    names = {each.name for each in list_features()}
    assert set(CHECKS) | set(RECORDS) <= names
    linked = {check for ids in CHECKS.values() for check in ids}
    assert linked <= {rule.id for rule in CHECK_RULES}
    assert {check for ids in RECORDS.values() for check in ids} <= {item.id for item in RECORD_ITEMS}
    # Table A.1 has A7, annex D has A5, clause 7.2 alone Y6 and clause 7.1 alone H14: no rows of table 3
    assert {rule.id for rule in CHECK_RULES} - linked == {"A5", "A7", "H14", "Y6"}
