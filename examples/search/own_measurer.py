"""A search by nodrop with a custom measurer: `python examples/search/own_measurer.py`."""

from nodrop.search import Outcome, create, plan


def measure(load_pps: float, duration_s: float) -> tuple[int, int]:
    """Return frames sent and lost. Replace it by your tester; this one simulates a forwarder of 1.3 Mpps."""
    offered_count = round(load_pps * duration_s)
    return offered_count, max(0, offered_count - int(1_300_000 * duration_s))


search = create(plan(max_load_pps=10e6, goals={"NDR": 0.0, "PDR": 0.005}))
index = 0
while (trial := search.ask()) is not None:
    offered_count, lost_count = measure(trial.intended_load_pps, trial.duration_s)
    search.tell(Outcome(index=index, loss_ratio=lost_count / offered_count, elapsed_s=trial.duration_s))
    index += 1

for interval in search.intervals():
    print(interval.goal.label, interval.lower_load_pps, interval.upper_load_pps)
