"""A run at a fixed rate over time: frames sent, received and lost."""

from nodrop.charts import loss
from nodrop.charts.base import Chart
from nodrop.errors import ConfigError
from nodrop.model.result import RunResult
from nodrop.model.trial import FIXED


def build_chart(result: RunResult) -> Chart:
    """Build the chart of a run at a fixed rate. Raises ConfigError for other runs."""
    trial = next((trial for trial in result.trials if trial.phase == FIXED), None)
    if trial is None:
        raise ConfigError(
            f"run {result.run_id}: no trial at a fixed rate; name a run at a fixed rate, or draw the chart funnel"
        )
    return loss.build_chart(result, trial).replace(name="rate")
