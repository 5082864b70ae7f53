"""Test procedures: each decides from the results so far which run is next, and evaluates them. Start in base.py.

A procedure is pure: no clock, no I/O. `run/suite.py` carries it out.
"""
