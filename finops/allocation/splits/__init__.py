"""The mathematics of shared-cost splits. Pure: no Django, no lake; exact integers, so that no digit is lost."""

from finops.allocation.splits.moving import Cell, Lot, Moving, When, moved
from finops.allocation.splits.pooling import shared_out_by_day
from finops.allocation.splits.rules import Split, SplitDimension
from finops.allocation.splits.shares import FULL, in_parts, scaled, shared_out, unscaled
from finops.allocation.splits.weights import Weights

__all__ = [
    "FULL",
    "Cell",
    "Lot",
    "Moving",
    "Split",
    "SplitDimension",
    "Weights",
    "When",
    "in_parts",
    "moved",
    "scaled",
    "shared_out",
    "shared_out_by_day",
    "unscaled",
]
