"""The import report's notes on the mapping of a Cost and Usage Report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.native.aws import cur_costs, line_types
from finops.costs.native.aws.cur_columns import CurColumns
from finops.costs.native.aws.cur_lines import RESERVATION, CurLines

_UNKNOWN: Final = (
    ("line_item_usage_account_name", "SubAccountName is empty: a legacy report names no accounts."),
    (
        "pricing_public_on_demand_cost",
        "ListCost is empty: the report was exported without pricing/publicOnDemandCost.",
    ),
    (
        "line_item_resource_id",
        "ResourceId is empty: the report was exported without “Include resource IDs”.",
    ),
)
"""A column of the report, and what cannot be determined without it."""

_ALWAYS: Final = (
    "ServiceCategory is empty: the report has no such column, and AWS publishes no table of it.",
    "ChargeClass is empty: the report does not say which lines correct an invoice.",
)


@dataclass
class LineCounts:
    """Counts of lines that FOCUS represents differently."""

    unused: int = 0
    shared: int = 0
    covered: int = 0
    """Lines covered by reservations: their contracted cost is unknown."""
    reservation_fees: int = 0
    plan_fees: int = 0
    fees: int = 0
    """Fees of any kind: those of reservations can be recognised only by their ARN."""

    def add(self, lines: CurLines, *, unused: pa.Array, shared: pa.Array) -> None:
        """Count the lines of a batch."""
        self.unused += _count(unused)
        self.shared += _count(shared)
        self.covered += _count(lines.are(line_types.COVERED_BY_RESERVATION))
        self.reservation_fees += _count(lines.are(line_types.RESERVATION_FEE))
        self.plan_fees += _count(lines.are(line_types.PLAN_FEE))
        self.fees += _count(lines.are(line_types.FEE))

    def notes(self, report: CurColumns) -> Sequence[str]:
        """Return the notes in sentences; permanently unknown facts last."""
        return [
            *self._change_notes(report),
            *(text for name, text in _UNKNOWN if not report.has(name)),
            *_ALWAYS,
        ]

    def _unknown_notes(self, report: CurColumns) -> Iterator[str]:
        """Return what effective cost lacks or counts twice, because the export lacks a column."""
        if self.reservation_fees and not report.present(*cur_costs.UNUSED_OF_RESERVATIONS):
            yield (
                "Unused reservations are unknown and missing in effective cost: the report was exported without "
                "reservation/UnusedRecurringFee and reservation/UnusedAmortizedUpfrontFeeForBillingPeriod."
            )
        if self.plan_fees and len(report.present(cur_costs.COMMITTED, cur_costs.USED)) < 2:
            yield (
                "Unused savings plans are unknown and missing in effective cost: the report was exported without "
                "savingsPlan/TotalCommitmentToDate or savingsPlan/UsedCommitment."
            )
        if self.fees and self.covered and not report.has(RESERVATION):
            yield (
                "Upfront fees of reservations may be in effective cost twice, as a fee and spread over usage: the report was "
                "exported without reservation/ReservationARN, which identifies them."
            )

    def _change_notes(self, report: CurColumns) -> Iterator[str]:
        if self.unused:
            yield (
                f"{self.unused:,} fees became two lines: the purchase with its billed cost, and the unused commitment "
                "with its effective cost."
            )
        yield from self._unknown_notes(report)
        if self.shared:
            yield (
                f"{self.shared:,} shares of split cost allocation data have effective cost; a second line without tags "
                "subtracts it from the shared resource. Tags of the resource itself keep its full cost."
            )
        if self.covered:
            yield (
                f"ContractedCost of {self.covered:,} lines that a reservation covers is empty: the report bills them 0 and does "
                "not say their negotiated price."
            )
        if report.has("discount") and not report.has(cur_costs.DISCOUNT):
            yield "Discounts are a map in this report and were not taken off: export discount_total_discount and the net costs too."
        if report.has(cur_costs.DISCOUNT) and report.has(cur_costs.NET):
            yield "Discounts are columns of this report: lines with one are at their net cost."


def _count(mask: pa.Array) -> int:
    return int(pc.sum(mask).as_py() or 0)
