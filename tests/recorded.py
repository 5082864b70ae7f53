"""Recorded searches over simulated systems under test: run, stored, read back."""

import contextlib
from pathlib import Path
from typing import Any

from tests.running import Listener, make_environment, make_plan

from nodrop import store
from nodrop.errors import SearchTimeoutError
from nodrop.model.event import RunDone
from nodrop.model.profiles import PRESCRIBED_SEARCHES
from nodrop.model.result import RunResult
from nodrop.run.execute import execute
from nodrop.search import ALGORITHMS
from nodrop.simulation import Sut, SutFunction

SEARCHES = [name for name in ALGORITHMS if name not in PRESCRIBED_SEARCHES]
"""Searches whose result is a load."""
PAUSE_S = 0.5
"""Between trials, in `at_its_pace`."""


def record_run(directory: Path, sut: Sut | SutFunction, **overrides: Any) -> RunResult:
    """Return the stored result of a run over a model, also of one that ran out of time."""
    listener = Listener()
    with contextlib.suppress(SearchTimeoutError):
        execute(make_plan(directory, **overrides), listener, make_environment(sut))
    done = listener.events[-1]
    assert isinstance(done, RunDone) and done.path
    return store.load(done.path)


def space_trials(result: RunResult) -> RunResult:
    """Return the result with trials one after the other; a model answers all of them at once."""
    steps = {step.trial_index: step for step in result.steps}
    now_s = 0.0
    for trial in result.trials:
        if trial.index in steps:
            steps[trial.index] = steps[trial.index].model_copy(update={"started_s": now_s})
        now_s += trial.duration_s + PAUSE_S
    return result.model_copy(update={"steps": tuple(steps.values())})


def overwrite_result(result: RunResult, results_dir: Path) -> Path:
    """Overwrite a result of the same id, which `store.save` refuses: for records that no run writes."""
    path = results_dir / result.run_id / store.RESULT_FILE
    store.write_text(path, store.to_json(result))
    return path
