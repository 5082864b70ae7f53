"""nodrop's own search: probe briefly, prove once. Start reading in `search`.

search           the flow: probe, prove a lower bound, prove an upper bound
probes           short overloads that show the behavior of the SUT
load_selection   the next load for a goal, and the reason
state            data that the parts of a search share, and the request of a trial
goal_evidence    the evidence of the trials for one goal
intervals        bounds, their confidence, every deviation
sut_model, trial_trace, event_loss    capacity and buffer; one trial; single losses and stalls
findings, confidence                  other findings; probability that a bound is wrong
"""

from nodrop.search.probe_search.search import NodropSearch

__all__ = ["NodropSearch"]
