"""Lines with days, collected into an Arrow table of the FOCUS columns that a vendor's export has.

Most columns of a row depend on its line only: they are stored once a line as a template, and expanded to the rows by one
vectorised take. Only dates, quantities and costs are stored a row.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finops.demo import templates
from finops.demo.catalog import COST_SCALE, QUANTITY_SCALE
from finops.demo.charges import Charge
from finops.demo.commitments import CommitmentDay, CoveredUsage
from finops.demo.company import VENDORS, invoice_id
from finops.demo.lines import ResourceLine
from finops.demo.templates import MOMENT, SCHEMA, contracted_price
from finops.lib.periods import add_months, month_start

# From a quantity in 1e-3 to one in the scale of a cost: a commitment's quantity may be money.
_QUANTITY_AS_COST = 10 ** (COST_SCALE - QUANTITY_SCALE)


_COSTS = ("BilledCost", "EffectiveCost", "ListCost", "ContractedCost")


def exact(values: Sequence[int | None], scale: int) -> pa.Array:
    """Whole numbers of 10 to the minus scale as decimals, without a division."""
    numbers = pa.array(values, type=pa.int64()).cast(pa.decimal128(19, 0))
    return pc.multiply(numbers, pa.scalar(Decimal(1).scaleb(-scale))).cast(pa.decimal128(38, scale))


def _moments(days: Sequence[date]) -> pa.Array:
    return pa.array(days, type=pa.date32()).cast(MOMENT)


class Rows:
    """A vendor's rows. Amounts are whole 1e-12, quantities whole 1e-3."""

    def __init__(self, source: str) -> None:
        self.vendor = VENDORS[source]
        self.billed_total = 0
        self._templates: list[dict[str, Any]] = []
        self._known: dict[tuple[str, str], int] = {}
        self._template: list[int] = []
        self._posted: list[date] = []
        self._charged: list[date] = []
        self._until: list[date] = []
        self._costs: array[int] = array("q")  # four a row, in the order of _COSTS
        self._quantity: list[int | None] = []
        self._committed: list[int | None] = []

    def add_usage(self, line: ResourceLine, quantity: int, day: date) -> None:
        """Add usage at the negotiated price."""
        cost = quantity * contracted_price(self.vendor, line.sku.price)
        template = self._template_of((line.key, ""), lambda: templates.usage(self.vendor, line))
        self._add(template, day, (cost, cost, quantity * line.sku.price, cost), quantity)

    def add_commitment(self, settled: CommitmentDay, day: date) -> None:
        """Add a commitment's covered usage, unused part and fee of a day."""
        term = settled.term
        spend = term.commitment.category == "Spend"
        for part in settled.covered:
            self._add_covered_usage(settled, part, day)
        if settled.unused_worth:
            template = self._template_of(
                ("unused", term.id), lambda: templates.unused_commitment(self.vendor, term)
            )
            amount = settled.unused_worth if spend else settled.unused_hours * _QUANTITY_AS_COST
            self._add(template, day, (0, settled.unused_worth, 0, 0), None, amount)
        if settled.fee:
            template = self._template_of(("purchase", term.id), lambda: templates.purchase(self.vendor, term))
            amount = settled.fee if spend else settled.hours_paid * _QUANTITY_AS_COST
            self._add(template, day, (settled.fee, 0, settled.fee, settled.fee), 1000, amount)

    def _add_covered_usage(self, settled: CommitmentDay, part: CoveredUsage, day: date) -> None:
        term, line = settled.term, part.line
        template = self._template_of(
            (line.key, term.id), lambda: templates.covered_usage(self.vendor, line, term)
        )
        contracted = part.quantity * contracted_price(self.vendor, line.sku.price)
        spend = term.commitment.category == "Spend"
        amount = part.worth if spend else part.quantity * _QUANTITY_AS_COST
        costs = (0, part.worth, part.quantity * line.sku.price, contracted)
        self._add(template, day, costs, part.quantity, amount)

    def add_charge(self, charge: Charge, posted: date) -> None:
        """Add a charge without usage; its day may be before the day it is posted."""
        key = (charge.description, charge.charge_category)
        template = self._template_of(key, lambda: templates.charge(self.vendor, charge))
        monthly = charge.frequency == "Recurring"
        until = add_months(month_start(charge.day), 1) if monthly else None
        self._add(template, posted, (charge.amount,) * 4, None, charged=charge.day, until=until)

    def _template_of(self, key: tuple[str, str], build: Callable[[], dict[str, Any]]) -> int:
        index = self._known.get(key)
        if index is None:
            index = self._known[key] = len(self._templates)
            self._templates.append(build())
        return index

    def _add(
        self,
        template: int,
        posted: date,
        costs: tuple[int, int, int, int],
        quantity: int | None,
        committed: int | None = None,
        charged: date | None = None,
        until: date | None = None,
    ) -> None:
        self.billed_total += costs[0]
        self._template.append(template)
        self._posted.append(posted)
        self._charged.append(charged or posted)
        self._until.append(until or (charged or posted) + timedelta(days=1))
        self._costs.extend(costs)
        self._quantity.append(quantity)
        self._committed.append(committed)

    # -- the table -----------------------------------------------------------------------------------------------

    def table(self) -> pa.Table:
        """All rows so far, in the vendor's schema."""
        schema = SCHEMA[self.vendor.key]
        spread = pa.array(self._template, type=pa.int32())
        columns = self._facts()
        for name in (*templates.TEMPLATE_COLUMNS, "Tags"):
            distinct = pa.array(
                [template.get(name) for template in self._templates], type=schema.field(name).type
            )
            columns[name] = distinct.take(spread)
        return pa.table([columns[field.name] for field in schema], schema=schema)

    def _facts(self) -> dict[str, pa.Array]:
        months = [month_start(day) for day in self._posted]
        invoices = {month: invoice_id(self.vendor, month) for month in set(months)}
        quantity = exact(self._quantity, QUANTITY_SCALE)
        return {
            "BillingPeriodStart": _moments(months),
            "BillingPeriodEnd": _moments([add_months(month, 1) for month in months]),
            "InvoiceId": pa.array([invoices[month] for month in months], type=pa.string()),
            "ChargePeriodStart": _moments(self._charged),
            "ChargePeriodEnd": _moments(self._until),
            **{name: exact(self._costs[place::4], COST_SCALE) for place, name in enumerate(_COSTS)},
            "PricingQuantity": quantity,
            "ConsumedQuantity": quantity,
            "CommitmentDiscountQuantity": exact(self._committed, COST_SCALE),
        }
