"""The conversation of `nodrop search --stdio`, in one process with a measurer that answers lines, and through pipes."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, Self

import pytest
from tests.recorded import SEARCHES
from tests.searching import drive, loss_ratio_of, search_plan
from tests.suts import Step
from tests.waiting import stretch

from nodrop.cli import main
from nodrop.errors import ConfigError, GeneratorError
from nodrop.model.choices import AlgorithmName
from nodrop.search import create
from nodrop.stdio import compute_step_s, serve_search
from nodrop.stdio.jsonl import MessageStream

CAPACITY_PPS = 1.3e6
PARAMS = {"max_load": 10e6, "min_load": 10e3, "final_trial_duration": 5.0, "initial_trial_duration": 0.5}
COMMAND = (sys.executable, "-m", "nodrop", "search", "--stdio")
Message = dict[str, Any]
Change = Callable[[Message], Message]


def forwarded_counts(load_pps: float, elapsed_s: float) -> Message:
    """Return the counts of a forwarder that loses everything above its capacity."""
    sent_count = round(load_pps * elapsed_s)
    return {"elapsed": elapsed_s, "sent": sent_count, "lost": max(0, sent_count - int(CAPACITY_PPS * elapsed_s))}


class Measurer:
    """The other end, which answers every message and stores it.

    Args:
        params: its first line.
        streams: whether it reports a trial's progress; else it answers `stream` with the entire trial at once.
        change: replacement for each answer to a trial before it is sent.
    """

    def __init__(self, params: Message, *, streams: bool = True, change: Change = lambda report: report) -> None:
        self.received: list[Message] = []
        self._answers = [json.dumps({"params": params})]
        self._streams = streams
        self._change = change
        self._wanted: Message = {}
        self._elapsed_s = 0.0

    def write(self, line: str) -> int:
        message = json.loads(line)
        self.received.append(message)
        if "measure" in message or "stream" in message:
            self._wanted, self._elapsed_s = message.get("measure") or message["stream"], 0.0
        if ("stream" in message and self._streams) or message.get("stop") is False:
            self._go_on()
        elif not {"result", "failed"} & set(message):
            self._end(self._elapsed_s or self._wanted["duration"])
        return len(line)

    def flush(self) -> None:
        pass

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        if not self._answers:
            raise StopIteration
        return self._answers.pop(0) + "\n"

    def converse(self, algorithm: AlgorithmName = "mlrsearch-01", **flags: Any) -> Message:
        """Run the entire conversation; return the last line."""
        serve_search(MessageStream(self, self), algorithm, flags)  # type: ignore[arg-type]
        return self.received[-1]

    @property
    def trials(self) -> list[Message]:
        return [text for message in self.received if (text := message.get("measure") or message.get("stream"))]

    def _go_on(self) -> None:
        self._elapsed_s += self._wanted["step"]
        if self._elapsed_s < self._wanted["duration"]:
            self._answers.append(json.dumps({"progress": forwarded_counts(self._wanted["load"], self._elapsed_s)}))
        else:
            self._end(self._wanted["duration"])

    def _end(self, elapsed_s: float) -> None:
        report = self._change(forwarded_counts(self._wanted["load"], elapsed_s))
        self._answers.append(json.dumps(report.get("answer", {"trial": report})))


def failure_reason(measurer: Measurer, algorithm: AlgorithmName = "mlrsearch-01", **flags: Any) -> str:
    """Return why there is no result: the reason sent to the other side and raised."""
    with pytest.raises(ConfigError) as raised:
        measurer.converse(algorithm, **flags)
    assert measurer.received[-1] == {"failed": str(raised.value)}
    return str(raised.value)


BOUNDING = [name for name in SEARCHES if name not in ("mrr", "plrsearch")]


@pytest.mark.parametrize("streams", [True, False], ids=["streaming", "in one piece"])
@pytest.mark.parametrize("algorithm", BOUNDING)
def test_every_search_finds_the_capacity_of_somebody_elses_forwarder(algorithm: AlgorithmName, streams: bool) -> None:
    result = Measurer(PARAMS, streams=streams).converse(algorithm)["result"]
    assert list(result) == ["0.0", "0.005"]
    for ratio, (lower_pps, upper_pps) in result.items():
        truth_pps = CAPACITY_PPS / (1 - float(ratio))
        assert truth_pps * 0.98 <= lower_pps <= truth_pps * 1.000001
        assert truth_pps * 0.999999 <= upper_pps <= lower_pps * 1.02


@pytest.mark.parametrize("algorithm", [name for name in SEARCHES if name in ("mrr", "plrsearch")])
def test_searches_without_bounds_give_their_estimate(algorithm: AlgorithmName) -> None:
    ended = Measurer(PARAMS | {"ratios": [0.001], "timeout": 60.0}).converse(algorithm)
    assert ended["result"] == {"0.001": [None, None]}
    assert ended["flags"]["0.001"][:2] == ["no-lower-bound", "no-upper-bound"]
    assert ended["goals"][0]["estimate_pps"] == pytest.approx(CAPACITY_PPS, rel=0.02)


def test_the_trials_are_those_of_the_same_search_inside_nodrop() -> None:
    measurer = Measurer(PARAMS, streams=False)
    measurer.converse("mlrsearch-01")
    plan = search_plan(min_load_pps=10e3, max_load_pps=10e6, initial_s=0.5, final_s=5.0)
    inside = drive(create(plan), loss_ratio_of(Step(CAPACITY_PPS)))
    assert [(trial["load"], trial["duration"]) for trial in measurer.trials] == [
        (trial.intended_load_pps, trial.duration_s) for trial in inside
    ]


def test_every_request_says_why_and_every_result_what_it_rests_on() -> None:
    measurer = Measurer(PARAMS)
    ended = measurer.converse()
    assert all(trial["reason"] and trial["rule"] for trial in measurer.trials)
    assert [trial["load"] for trial in ended["trials"]] == [trial["load"] for trial in measurer.trials]
    assert [goal["goal"]["label"] for goal in ended["goals"]] == ["NDR", "PDR"]
    assert all("SUT lost" in ended["explanation"][ratio] for ratio in ended["result"])


def test_a_streaming_trial_is_stopped_once_it_is_decided() -> None:
    measurer = Measurer(PARAMS)
    ended = measurer.converse("nodrop")
    stopped = [trial for trial in ended["trials"] if trial["stopped_by"]]
    assert stopped
    assert all(trial["elapsed"] < trial["duration"] for trial in stopped)
    assert {"stop": True} in measurer.received and {"stop": False} in measurer.received
    spent_s = sum(trial["elapsed"] + 0.5 for trial in ended["trials"])
    assert ended["elapsed"] == pytest.approx(spent_s)
    assert spent_s < sum(trial["duration"] for trial in ended["trials"])


def test_progress_is_asked_for_a_few_hundred_times_a_trial() -> None:
    assert [compute_step_s(duration_s) for duration_s in (1.0, 20.0, 30.0, 60.0)] == [0.05, 20.0 / 300, 0.1, 0.1]


def test_the_loss_ratio_of_the_other_side_goes_before_its_counts() -> None:
    measurer = Measurer(PARAMS, change=lambda report: report | {"lost": 0, "sent": 1, "loss_ratio": 0.25})
    ended = measurer.converse(goals=[{"label": "PDR", "loss_ratio": "30%"}])
    assert ended["result"] == {"0.3": [10e6, None]}
    assert {trial["loss_ratio"] for trial in ended["trials"]} == {0.25}


def test_a_loss_ratio_alone_is_an_answer() -> None:
    def ratio_alone(message: Message) -> Message:
        return {"loss_ratio": message["lost"] / message["sent"]}

    ended = Measurer(PARAMS, streams=False, change=ratio_alone).converse()
    assert ended["result"] == Measurer(PARAMS, streams=False).converse()["result"]


def test_frames_that_were_not_sent_count_as_lost() -> None:
    def slow(message: Message) -> Message:
        return message | {"sent": min(message["sent"], 1e6 * message["elapsed"]), "lost": 0}

    ended = Measurer(PARAMS, change=slow).converse()
    lower_pps, upper_pps = ended["result"]["0.0"]
    assert 0.99e6 < lower_pps <= 1e6 * 1.00002 <= upper_pps < 1.01e6
    assert ended["trials"][0]["loss_ratio"] == pytest.approx(0.9)
    assert "tester-limited" in ended["flags"]["0.0"]


def test_frames_intended_for_the_whole_of_a_stopped_trial_do_not_count_as_unsent() -> None:
    measurer = Measurer(PARAMS)
    measurer_telling_intended = Measurer(
        PARAMS, change=lambda report: report | {"intended": round(measurer_telling_intended.trials[-1]["load"] * 5.0)}
    )
    assert measurer_telling_intended.converse("nodrop") == measurer.converse("nodrop")


def test_a_bound_that_does_not_exist_is_null_and_flagged() -> None:
    ended = Measurer(PARAMS | {"max_load": 1e6}).converse("nodrop")
    assert ended["result"]["0.0"] == [1e6, None]
    assert "no-upper-bound" in ended["flags"]["0.0"]
    assert "highest load allowed" in ended["explanation"]["0.0"]
    ended = Measurer(PARAMS | {"min_load": 2e6}).converse("mlrsearch-rfc9971")
    assert ended["result"]["0.0"] == [None, 2e6]
    assert "no-lower-bound" in ended["flags"]["0.0"]


@pytest.mark.parametrize("algorithm", ["nodrop", "mlrsearch-01"])
def test_what_is_known_when_the_time_is_up_is_the_result(algorithm: AlgorithmName) -> None:
    measurer = Measurer(PARAMS | {"timeout": 8.0, "overhead": 1.0})
    ended = measurer.converse(algorithm)
    assert "out-of-time" in ended["flags"]["0.0"]
    assert sum(trial["elapsed"] + 1.0 for trial in ended["trials"]) - 1.0 <= 8.0


def test_only_the_highest_load_has_to_be_asked_for() -> None:
    ended = Measurer({"max_load": 10_000_000}).converse()
    goal = ended["goals"][0]["goal"]
    assert list(ended["result"]) == ["0.0", "0.005"]
    assert ended["trials"][-1]["duration"] == 30.0
    assert goal["label"] == "NDR"


def test_ratios_are_named_as_python_writes_them() -> None:
    ended = Measurer(PARAMS | {"ratios": [0, 1e-7, 0.0050, 0.01]}).converse()
    assert list(ended["result"]) == ["0.0", "1e-07", "0.005", "0.01"]
    assert [goal["goal"]["label"] for goal in ended["goals"]] == ["NDR", "PDR 1e-07", "PDR 0.005", "PDR 0.01"]


def test_goals_may_have_attributes_of_their_own() -> None:
    own = {"label": "NDR_1s", "loss_ratio": 0.0, "exceed_ratio": 0.5, "duration_sum": 7.0, "final_trial_duration": 1.0}
    ended = Measurer(PARAMS | {"goals": [own | {"width": 0.01}, {"loss_ratio": 0.01}]}).converse("mlrsearch-rfc9971")
    first, second = (goal["goal"] for goal in ended["goals"])
    assert (first["label"], first["exceed_ratio"], first["duration_sum_s"], first["width_ratio"]) == (
        "NDR_1s",
        0.5,
        7.0,
        0.01,
    )
    assert (second["label"], second["final_trial_duration_s"], second["duration_sum_s"]) == ("PDR", 5.0, 5.0)


def test_the_command_line_goes_before_params() -> None:
    goals = [{"loss_ratio": 0.0, "width": 0.1, "final_trial_duration": 2.0}]
    flags = {"max_load": "5Mpps", "width": "2%", "final_trial_duration": "1s", "budget": "50s"}
    ended = Measurer(PARAMS | {"goals": goals, "relative_width": 0.3}).converse("nodrop", **flags)
    goal = ended["goals"][0]["goal"]
    assert ended["trials"][0]["load"] == 5e6
    assert (goal["width_ratio"], goal["final_trial_duration_s"]) == (0.02, 1.0)
    ended = Measurer(PARAMS | {"goals": goals}).converse("nodrop", goals=[{"label": "PDR", "loss_ratio": "1%"}])
    assert list(ended["result"]) == ["0.01"]


def test_unknown_fields_are_ignored() -> None:
    more = PARAMS | {"color": "blue", "goals": [{"loss_ratio": 0.0, "color": "red"}]}
    ended = Measurer(more, change=lambda report: report | {"latency": [1, 2], "duration": "long"}).converse()
    assert ended["result"] == Measurer(PARAMS | {"ratios": [0.0]}).converse()["result"]


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({}, "params: max_load is missing; write e.g."),
        (None, "params: not a mapping (None)"),
        ({"max_load": "fast"}, "params: max_load: 'fast' is not a packet rate"),
        ({"max_load": -1.0}, "params: max_load: should be greater than 0 (-1.0)"),
        ({"max_load": True}, "params: max_load: True is not a packet rate"),
        ({"max_load": 1e6, "min_load": 2e6}, "search.max_load: 1.000 Mpps is not above search.min_load"),
        ({"max_load": 1e6, "ratios": []}, "params: ratios:"),
        ({"max_load": 1e6, "ratios": [1.5]}, "params: ratios.0: should be less than 1 (1.5)"),
        ({"max_load": 1e6, "relative_width": 0}, "params: relative_width: should be greater than 0 (0.0)"),
        (
            {"max_load": 1e6, "intermediate_phases": -1},
            "params: intermediate_phases: should be greater than or equal to 0 (-1)",
        ),
        ({"max_load": 1e6, "goals": [{"label": "NDR"}]}, "params: goals.0.loss_ratio: missing and has no default"),
        ({"max_load": 1e6, "goals": [{"loss_ratio": 0}] * 2}, "goals: more than one goal is labeled NDR"),
        ({"max_load": 1e6, "duration_sum": 60.0}, "the search mlrsearch-01 uses only the loss ratio of a goal"),
        ({"max_load": 1e6, "initial_trial_duration": 40.0}, "make final_trial_duration at least as long"),
        ({"max_load": 1e6, "timeout": 0}, "params: timeout: should be greater than 0 (0.0)"),
    ],
)
def test_params_that_cannot_be_used_are_answered_with_why(params: Message, sentence: str) -> None:
    assert sentence in failure_reason(Measurer(params))


def test_flags_that_cannot_be_used_are_answered_with_why() -> None:
    message = failure_reason(Measurer(PARAMS), width="3", budget="soon")
    assert "command line: width: should be less than 1 (3.0)" in message
    assert "command line: budget: 'soon' is not a duration" in message


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"trial": {"sent": 1}}, "trial 0: lost and loss_ratio are missing"),
        ({"trial": {"lost": -1}}, "trial 0: lost: should be greater than or equal to 0 (-1)"),
        ({"trial": {"lost": "3"}}, "trial 0: lost: should be a number ('3')"),
        ({"trial": {"lost": 0, "loss_ratio": 2}}, "trial 0: loss_ratio: should be less than or equal to 1 (2)"),
        ({"trial": {"lost": 2, "sent": 1}}, "trial 0: 2 lost of 1 sent"),
        ({"trial": {"lost": 0, "load": 5e5}}, "trial 0: load is 500000, not 1e+07; measure the requested load"),
        ({"trial": {"lost": 0, "elapsed": 0}}, "trial 0: elapsed: should be greater than 0 (0)"),
        ({"trial": [1]}, "trial 0: not a mapping ([1])"),
        ({"progress": {}}, 'unexpected message {"progress": {}}, expected {"trial": {...}}'),
        ({"failed": "no link"}, 'unexpected message {"failed": "no link"}, expected {"trial": {...}}'),
        ([1], 'unexpected message [1], expected {"trial": {...}}'),
    ],
)
def test_answers_that_cannot_be_used_are_answered_with_why(answer: Any, sentence: str) -> None:
    assert sentence in failure_reason(Measurer(PARAMS, change=lambda _: {"answer": answer}))


@pytest.mark.parametrize("line", ["sent 5 lost 3", '{"trial": {"lost": NaN}}', "[" * 5000, '{"trial": 1', "7" * 5000])
def test_lines_that_are_not_json_are_answered_with_why(line: str) -> None:
    measurer = Measurer(PARAMS)
    lines = iter([json.dumps({"params": PARAMS}), line])
    with pytest.raises(ConfigError, match="send it as one line of JSON"):
        serve_search(MessageStream(lines, measurer), "mlrsearch-01", {})  # type: ignore[arg-type]
    assert list(measurer.received[-1]) == ["failed"]


def test_time_that_goes_back_is_an_error() -> None:
    report = [{"elapsed": 0.3, "sent": 5, "lost": 0}, {"elapsed": 0.2, "sent": 6, "lost": 0}]
    answers = [json.dumps({"params": PARAMS}), *(json.dumps({"progress": each}) for each in report)]
    with pytest.raises(ConfigError, match=r"progress 0: elapsed 0\.2 after 0\.3"):
        serve_search(MessageStream(iter(answers), Measurer(PARAMS)), "nodrop", {})  # type: ignore[arg-type]


def test_a_measurer_that_takes_back_lost_frames_is_named_in_the_result() -> None:
    measurer = Measurer(PARAMS, change=lambda report: report | {"lost": 0})
    assert "recounted-loss" in [finding["code"] for finding in measurer.converse("nodrop")["findings"]]


def test_trials_shorter_than_asked_are_named_in_the_result() -> None:
    measurer = Measurer(PARAMS, streams=False, change=lambda report: report | {"elapsed": report["elapsed"] / 2})
    assert "short-trials" in [finding["code"] for finding in measurer.converse()["findings"]]
    assert Measurer(PARAMS).converse()["findings"] == []


@pytest.mark.parametrize("count", [0, 1, 2])
def test_an_input_that_ends_is_a_sentence(count: int) -> None:
    message = [json.dumps({"params": PARAMS}), json.dumps({"trial": {"lost": 0}})][:count]
    with pytest.raises(GeneratorError, match=r"the input ended, expected .*; send it to get a result"):
        serve_search(MessageStream(iter(message), Measurer(PARAMS)), "mlrsearch-01", {})  # type: ignore[arg-type]


def run_piped(message: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], input=message, capture_output=True, text=True, timeout=stretch(30), check=False
    )


def run_messages(process: subprocess.Popen[str], measurer: Measurer) -> Iterator[Message]:
    """Run the conversation through pipes, line by line; it would block if a line were not flushed."""
    assert process.stdin and process.stdout
    for answer in measurer:
        process.stdin.write(answer)
        process.stdin.flush()
        line = process.stdout.readline()
        measurer.write(line)
        yield json.loads(line)


@pytest.mark.parametrize("algorithm", ["nodrop", "mlrsearch-01"])
def test_the_conversation_goes_through_pipes(algorithm: AlgorithmName) -> None:
    with subprocess.Popen(
        [*COMMAND, "--search", algorithm, "--goal", "NDR=0", "--final-trial-duration", "2s"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        *_, ended = run_messages(process, Measurer(PARAMS))
    assert process.returncode == 0
    assert ended == Measurer(PARAMS).converse(
        algorithm, goals=[{"label": "NDR", "loss_ratio": "0"}], final_trial_duration="2s"
    )


def test_failed_is_exit_code_2() -> None:
    ended = run_piped('{"params": {}}\n', "--search", "mlrsearch-01")
    assert ended.returncode == 2
    assert "max_load is missing" in json.loads(ended.stdout)["failed"]
    assert ended.stderr.startswith("nodrop: error: params: max_load is missing")


@pytest.mark.parametrize("message", ["", json.dumps({"params": PARAMS}) + "\n"])
def test_an_input_that_ends_is_exit_code_4_without_a_traceback(message: str) -> None:
    ended = run_piped(message, "--search", "mlrsearch-01")
    assert ended.returncode == 4
    assert "the input ended" in ended.stderr and "Traceback" not in ended.stderr
    assert "result" not in ended.stdout


def test_an_output_nobody_reads_is_exit_code_4_without_a_traceback() -> None:
    with subprocess.Popen(
        [*COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdout.close()
        process.stdin.write(json.dumps({"params": PARAMS}) + "\n")
        process.stdin.flush()
        complaint = process.stderr.read()
    assert process.returncode == 4
    assert complaint.startswith("nodrop: error: the output is closed") and len(complaint.splitlines()) == 1


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_a_closed_end_is_exit_code_4_without_a_traceback(closed: str) -> None:
    command = f'exec "$@" {closed}'
    ended = subprocess.run(
        ["bash", "-c", command, "bash", *COMMAND],
        input="",
        stderr=subprocess.PIPE,
        text=True,
        timeout=stretch(30),
        check=False,
    )
    assert ended.returncode == 4
    assert "standard input or output is closed" in ended.stderr and "Traceback" not in ended.stderr


def test_without_stdio_it_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search"]) == 2
    assert "needs --stdio" in capsys.readouterr().err
