"""Systems under test without packets, and the measurer that answers trials from them.

`SUTS` has every kind by name. Each keeps a virtual clock's time, its own random numbers and the truth about itself.
"""

from nodrop.generator.simulated.kinds import SUTS, create
from nodrop.generator.simulated.measurer import SimulatedMeasurer
from nodrop.generator.simulated.modelled import SutCounts, SutModel
from nodrop.generator.simulated.sut import Course, Sut

__all__ = ["SUTS", "Course", "SimulatedMeasurer", "Sut", "SutCounts", "SutModel", "create"]
