"""Lines of an AWS Cost and Usage Report as FOCUS. Each rule with its source is in docs/native-formats.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.native.aws import cur_costs, cur_values, line_types
from finops.costs.native.aws.cur_columns import CurColumns
from finops.costs.native.aws.cur_costs import LINE_TYPE, SPLIT_COLUMNS, CurLines
from finops.costs.native.aws.cur_tags import tag_places
from finops.costs.native.native_batch import NativeBatch
from finops.costs.native.native_format import NativeMapping

_TAKEN: Final[Mapping[str, str]] = {
    "BillingAccountId": "bill_payer_account_id",
    "BillingAccountName": "bill_payer_account_name",
    "SubAccountId": "line_item_usage_account_id",
    "SubAccountName": "line_item_usage_account_name",
    "BillingCurrency": "line_item_currency_code",
    "BillingPeriodStart": "bill_billing_period_start_date",
    "BillingPeriodEnd": "bill_billing_period_end_date",
    "ChargePeriodStart": "line_item_usage_start_date",
    "ChargePeriodEnd": "line_item_usage_end_date",
    "InvoiceId": "bill_invoice_id",
    "InvoiceIssuerName": "bill_invoicing_entity",
    "PublisherName": "line_item_legal_entity",
    "ChargeDescription": "line_item_line_item_description",
    "AvailabilityZone": "line_item_availability_zone",
    "RegionName": "product_location",
    "SkuId": "product_sku",
    "SkuMeter": "line_item_usage_type",
    "SkuPriceId": "pricing_rate_id",
    "CapacityReservationId": "capacity_reservation_capacity_reservation_arn",
    "x_LineItemType": LINE_TYPE,
    "x_ServiceCode": "line_item_product_code",
    "x_Operation": "line_item_operation",
    "x_UsageType": "line_item_usage_type",
    "x_IamPrincipal": "line_item_iam_principal",
    "x_UserId": "line_item_user_identifier",
}
"""FOCUS column -> the report's that has the same."""

_SPLIT_ONLY: Final = ("AllocatedResourceId", "AllocatedMethodId")
_COMMITMENT_ONLY: Final = tuple(name for name in cur_values.MADE if name.startswith("CommitmentDiscount"))


class CurMapping(NativeMapping):
    """One report."""

    def __init__(self, names: Sequence[str]) -> None:
        self.report = CurColumns(names)
        self.title = f"AWS Cost and Usage Report ({'CUR 2.0' if self.report.is_cur_2 else 'legacy CUR'})"
        self.columns = {name: places for name, places in self._columns().items() if places}
        of_made = {name: of[0] for name, (_, of) in cur_values.MADE.items() if of}
        self.sources = {name: self.report.shown(of) for name, of in {**_TAKEN, **of_made}.items()}
        self.needed = self.report.present(LINE_TYPE, *cur_costs.UNUSED_COLUMNS, *SPLIT_COLUMNS)
        costs = (*cur_costs.COST_COLUMNS, *SPLIT_COLUMNS[1:])
        self.plain = frozenset(self.report.present(*cur_values.AMOUNTS, *costs, cur_values.RESOURCE))
        self.begin()

    def _columns(self) -> dict[str, tuple[str, ...]]:
        report = self.report
        columns = {name: report.present(of) for name, of in _TAKEN.items()}
        for name, (_, made_of) in cur_values.MADE.items():
            any_will_do = name in ("ServiceName", "RegionId")
            if any_will_do or (made_of and report.has(made_of[0])):
                columns[name] = report.present(*made_of)
        columns["Tags"] = tag_places(report)
        if not report.present(cur_costs.RESERVATION, cur_costs.PLAN):
            columns |= dict.fromkeys(_COMMITMENT_ONLY, ())
        return columns

    def begin(self) -> None:
        self._lines: CurLines | None = None
        self._negated = self._unused = self._shared = 0

    def prepare(self, batch: NativeBatch) -> NativeBatch:
        """Without negations; a fee of which something was not used, and a share of a split line, become two lines."""
        lines = CurLines(batch, self.report, None)
        negated = lines.are(line_types.NEGATION)
        unused = pc.not_equal(lines.unused_cost(), cur_costs.ZERO)
        shared = pc.and_(lines.is_split(), pc.not_equal(lines.split_cost(), cur_costs.ZERO))
        self._negated += int(pc.sum(negated).as_py())
        self._unused += int(pc.sum(unused).as_py())
        self._shared += int(pc.sum(shared).as_py())
        kept = pc.indices_nonzero(pc.invert(negated))
        twice = pc.indices_nonzero(pc.or_(unused, shared))
        if len(kept) == batch.size and not len(twice):
            self._lines = lines
            return batch
        taken = batch.take(pa.concat_arrays([kept, twice]))
        flags = [pa.repeat(pa.scalar(False), len(kept)), pa.repeat(pa.scalar(True), len(twice))]
        self._lines = CurLines(taken, self.report, pa.concat_arrays(flags) if len(twice) else None)
        return taken

    def column(self, name: str, batch: NativeBatch) -> pa.Array:
        if name in cur_values.MADE:
            make, _ = cur_values.MADE[name]
            return make(self._lines or CurLines(batch, self.report, None))
        return batch.column(self.report.name(_TAKEN[name]))

    def notes(self) -> Sequence[str]:
        notes = []
        if self._negated:
            notes.append(
                f"{self._negated:,} lines SavingsPlanNegation were left out: FOCUS bills usage that a savings plan covers 0."
            )
        if self._unused:
            notes.append(
                f"{self._unused:,} fees became two lines: the purchase with its billed cost, and what was not used of the "
                "commitment with its effective cost."
            )
        if self._shared:
            notes.append(
                f"{self._shared:,} shares of split cost allocation data have their effective cost; a line on the resource that "
                "they share takes it away there."
            )
        return [*notes, *_MISSING]


_MISSING: Final = (
    "ServiceCategory is empty: the report has no such column, and AWS publishes no table of it.",
    "ChargeClass is empty: the report does not say which lines correct an invoice.",
)
