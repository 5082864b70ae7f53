"""Bounds of an earlier result of the same SUT and traffic, from which a search starts."""

from nodrop.errors import ConfigError
from nodrop.model.result import RunResult
from nodrop.model.search_plan import EarlierGoal
from nodrop.model.traffic import Traffic


def read_warm_start(name: str, result: RunResult, sut: str, traffic: Traffic) -> tuple[EarlierGoal, ...]:
    """Return the bounds of every goal that has both.

    Args:
        name: the user's name of the result.
        result: the result.
        sut, traffic: what is measured now.

    Raises: ConfigError if the result measured something else, or has no bounds.
    """
    then, now = _read_text(result.plan.lab.sut_text, result.plan.traffic), _read_text(sut, traffic)
    if (result.plan.lab.sut_text, result.plan.traffic) != (sut, traffic):
        other = f"it measured {then}, this run measures {now}" if then != now else "its frames have other addresses"
        raise ConfigError(
            f"search.warm_start: another SUT or traffic ({name}: {other}); name a result of the same SUT and traffic, "
            "or remove it"
        )
    bounds = tuple(
        EarlierGoal(
            loss_ratio=goal.goal.loss_ratio,
            final_trial_duration_s=goal.goal.final_trial_duration_s or result.plan.search.final_trial_duration_s,
            lower_pps=goal.lower.load_pps,
            upper_pps=goal.upper.load_pps,
        )
        for goal in result.goals
        if goal.lower and goal.upper
    )
    if not bounds:
        raise ConfigError(f"search.warm_start: no goal has both bounds ({name}); name another result, or remove it")
    return bounds


def _read_text(sut: str, traffic: Traffic) -> str:
    ways = "both ways" if len(traffic.direction_ratios) > 1 else "one way"
    return f"{sut} with {traffic.frame_bytes:g}-byte frames {ways} in {traffic.streams[0].flow_count} flows each way"
