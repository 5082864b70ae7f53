"""nodrop's own search: look briefly, prove once. Start reading in `search`.

search    the flow: look, prove, show that more is too much
looking   short overloads that show what the SUT does
choice    which load a goal wants next, and why
state     what the parts of a search share, and how a trial is asked for
ledger    what the trials count for one goal
answer    bounds, how sure they are, every deviation
sut_model, trace, astray    capacity and buffer; one trial; frames lost singly or in stalls
findings, assurance         what else was seen; how likely a bound is wrong
"""

from nodrop.search.probe_search.search import NodropSearch

__all__ = ["NodropSearch"]
