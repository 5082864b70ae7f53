"""A run at a fixed rate over time: what was sent, received and lost."""

from nodrop.charts import loss
from nodrop.charts.base import Chart
from nodrop.errors import ConfigError
from nodrop.model.result import RunResult
from nodrop.model.trial import FIXED


def build_chart(result: RunResult) -> Chart:
    """The trial of a run at a fixed rate. Raises ConfigError where there is none."""
    trial = next((trial for trial in result.trials if trial.phase == FIXED), None)
    if trial is None:
        raise ConfigError(
            f"a picture of run {result.run_id} at a fixed rate asked, it has no such trial; "
            "name a run at a fixed rate, or draw its funnel"
        )
    return loss.build_chart(result, trial).model_copy(update={"name": "rate"})
