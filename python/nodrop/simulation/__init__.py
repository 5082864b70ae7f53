"""Simulated SUTs with known truth, a measurer for them, and searches against them.

`SUTS` holds every kind by name. Each SUT follows a virtual clock, draws from its own random generator and knows its
true limit.
"""

from nodrop.simulation.function_sut import SutCounts, SutFunction
from nodrop.simulation.measurer import SimulatedMeasurer
from nodrop.simulation.registry import SUTS, create
from nodrop.simulation.sut import LossTimeline, Sut

__all__ = ["SUTS", "LossTimeline", "SimulatedMeasurer", "Sut", "SutCounts", "SutFunction", "create"]
