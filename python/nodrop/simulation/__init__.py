"""Systems under test without packets, and the measurer that answers trials from them.

`SUTS` has every kind by name. Each keeps a virtual clock's time, its own random numbers and the truth about itself.
"""

from nodrop.simulation.function_sut import SutCounts, SutModel
from nodrop.simulation.measurer import SimulatedMeasurer
from nodrop.simulation.registry import SUTS, create
from nodrop.simulation.sut import Course, Sut

__all__ = ["SUTS", "Course", "SimulatedMeasurer", "Sut", "SutCounts", "SutModel", "create"]
