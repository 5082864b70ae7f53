"""In what set-ups differ: what matters first, and nothing that always differs."""

from pathlib import Path

import pytest
from tests.recorded import recorded
from tests.running import MILLION
from tests.verdicts import rate, run

from nodrop.model.result import RunResult
from nodrop.verdict import differences, outward_differences


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return recorded(tmp_path_factory.mktemp("results"), MILLION)


def with_facts(result: RunResult, **host: object) -> RunResult:
    assert result.facts
    found = result.facts.host.model_copy(update=host)
    return result.model_copy(update={"facts": result.facts.model_copy(update={"host": found})})


def test_two_runs_of_one_configuration_do_not_differ(result: RunResult, tmp_path: Path) -> None:
    again = recorded(tmp_path / "elsewhere", MILLION, label="again")
    assert result.run_id != again.run_id
    assert differences([result], [again]) == ()


def test_what_likely_matters_comes_first(result: RunResult, tmp_path: Path) -> None:
    other = recorded(tmp_path, MILLION, hops=2, search__width="2%", frame_bytes=128)
    found = differences([result], [with_facts(other, kernel="7.0", memory_bytes=1)])
    texts = [each.text for each in found]
    order = ["SUT", "traffic", "kernel", "memory in bytes", "width asked"]
    assert [text for text in texts if text in order] == order
    sut = found[0]
    assert (sut.room, sut.a, sut.b) == ("sut", "vnf-l2", "vnf-l2 x 2 in line")


def test_keys_that_nobody_thought_of_are_told_by_their_names(result: RunResult, tmp_path: Path) -> None:
    other = recorded(tmp_path, MILLION, engine__catch_up="30ms")
    assert [(each.text, each.a, each.b) for each in differences([result], [other])] == [
        ("engine.catch_up_max_s", "0.02", "0.03")
    ]


def test_values_that_vary_on_both_sides_alike_are_no_difference(result: RunResult) -> None:
    faster = with_facts(result, kernel="7.0")
    assert differences([result, faster], [faster, result]) == ()
    (kernel,) = differences([result, faster], [faster])
    assert kernel.b == "7.0" and "7.0" in kernel.a and ", " in kernel.a


def test_a_run_that_never_came_up_has_no_facts_to_differ_in(result: RunResult) -> None:
    assert {each.a for each in differences([result.model_copy(update={"facts": None})], [result])} == {"-"}


def test_of_other_testers_results_what_is_known_is_compared() -> None:
    theirs = run(1, rate(1e6), source="nfvbench", version="3.6.1", kernel="")
    found = {each.text: (each.a, each.b) for each in outward_differences([run(0, rate(1e6))], [theirs])}
    assert found == {
        "kernel": ("6.1", "-"),
        "who measured": ("nodrop", "nfvbench"),
        "version of the tester": ("0.1.0", "3.6.1"),
    }
