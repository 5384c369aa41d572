"""The algorithm of shared-cost splits. Pure: no Django, no lake; exact integers, so that no digit is lost."""

from finops.allocation.splits.allocator import AllocationResult, Cell, CostGroup, TimePosition, allocate_cells
from finops.allocation.splits.daily_shares import allocate_by_day
from finops.allocation.splits.rules import Split, SplitDimension
from finops.allocation.splits.shares import FULL, Weights, allocate, allocate_decimal, from_units, to_units

__all__ = [
    "FULL",
    "AllocationResult",
    "Cell",
    "CostGroup",
    "Split",
    "SplitDimension",
    "TimePosition",
    "Weights",
    "allocate",
    "allocate_by_day",
    "allocate_cells",
    "allocate_decimal",
    "from_units",
    "to_units",
]
