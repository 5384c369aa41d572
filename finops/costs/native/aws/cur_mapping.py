"""Lines of an AWS Cost and Usage Report as FOCUS. Each rule with its source is in docs/native-formats.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.native.aws import cur_costs, cur_negations, cur_notes, cur_values, line_types
from finops.costs.native.aws.cur_columns import CurColumns
from finops.costs.native.aws.cur_lines import LINE_TYPE, PLAN, RESERVATION, CurLines, is_nonzero
from finops.costs.native.aws.cur_tags import read_tags, tag_places
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
    "x_InstanceType": "product_instance_type",
    "x_IamPrincipal": "line_item_iam_principal",
    "x_UserId": "line_item_user_identifier",
}
"""FOCUS column -> the report's column with the same values."""

_OF_COMMITMENTS: Final = tuple(name for name in cur_values.MADE if name.startswith("CommitmentDiscount"))
_ANY_WILL_DO: Final = ("ServiceName", "RegionId")


class CurMapping(NativeMapping):
    """One report."""

    def __init__(self, names: Sequence[str]) -> None:
        self.report = CurColumns(names)
        self.title = f"AWS Cost and Usage Report ({'CUR 2.0' if self.report.is_cur_2 else 'legacy CUR'})"
        self.columns = {name: places for name, places in self._columns().items() if places}
        of_made = {name: of[0] for name, (_, of) in cur_values.MADE.items()}
        self.sources = {name: self.report.shown(of) for name, of in {**_TAKEN, **of_made}.items()}
        self.needed = self.report.present(LINE_TYPE)
        self._second_of = self.report.present(
            *cur_costs.BILLED_COLUMNS, *cur_costs.UNUSED_COLUMNS, *cur_costs.SPLIT_COLUMNS
        )
        self.plain = frozenset(self.report.present(*cur_values.AMOUNTS, cur_values.RESOURCE))
        self.reports: Sequence[CurMapping] = (self,)
        """All reports of the import, or of its part, in reading order."""
        self.earlier: Sequence[cur_negations.Negations] = ()
        """The negations of earlier parts of the import."""
        self.more_follow = False
        """Whether later parts of the import follow."""
        self.begin()

    def _columns(self) -> dict[str, tuple[str, ...]]:
        report = self.report
        columns = {name: report.present(of) for name, of in _TAKEN.items()}
        for name, (_, inputs) in cur_values.MADE.items():
            if name in _ANY_WILL_DO or report.has(inputs[0]):
                columns[name] = report.present(*inputs)
        columns["Tags"] = tag_places(report)
        if not report.present(RESERVATION, PLAN):
            columns |= dict.fromkeys(_OF_COMMITMENTS, ())
        return columns

    def begin(self) -> None:
        self._lines: CurLines | None = None
        self._counts = cur_notes.LineCounts()
        self.negations = cur_negations.Negations()

    def end(self) -> None:
        self._lines = None

    def prepare(self, batch: NativeBatch) -> NativeBatch:
        """Drop negations; split a fee with an unused part, and a share of another line, into two lines.

        A pass that reads no costs, such as the survey of months and tags, needs no second lines.
        """
        lines = CurLines(batch, self.report)
        self._lines = lines
        if not self.report.has(LINE_TYPE) or not all(batch.has(name) for name in self._second_of):
            return batch
        negated = lines.are(line_types.NEGATION)
        self._add_negations(batch, pc.or_(negated, lines.are(line_types.COVERED_BY_PLAN)))
        unused = is_nonzero(cur_costs.unused_cost(lines))
        shared = is_nonzero(cur_costs.shared_cost(lines))
        self._counts.add(lines, unused=unused, shared=shared)
        places = pc.indices_nonzero(pc.invert(negated))
        twice = pc.indices_nonzero(pc.or_(unused, shared))
        if len(places) == batch.size and not len(twice):
            return batch
        charge_lines = batch.take(pa.concat_arrays([places, twice]))
        flags = [pa.repeat(pa.scalar(False), len(places)), pa.repeat(pa.scalar(True), len(twice))]
        self._lines = CurLines(charge_lines, self.report, pa.concat_arrays(flags) if len(twice) else None)
        return charge_lines

    def _add_negations(self, batch: NativeBatch, mask: pa.Array) -> None:
        places = pc.indices_nonzero(mask)
        if not len(places):
            return
        lines = CurLines(batch.take(places), self.report)
        read = {
            name: cur_values.MADE[name][0](lines)
            if name in self.columns and all(batch.has(each) for each in self.columns[name])
            else lines.batch.constant(None)
            for name in ("ServiceName", "RegionId")
        }
        self.negations.add(lines, read)

    def extra_lines(self) -> Mapping[str, pa.Array]:
        """Return, with the last report, the difference of negations and the usage that they cancel."""
        differences = self._differences()
        return cur_negations.difference_lines(differences) if differences else {}

    def _differences(self) -> cur_negations.Differences:
        return cur_negations.kept_differences(self._all_negations())

    def _all_negations(self) -> Sequence[cur_negations.Negations]:
        """Return all files' negations, with the last report: files of a month have negations of each other's usage."""
        if self.more_follow or self is not self.reports[-1]:
            return ()
        return [*self.earlier, *(report.negations for report in self.reports)]

    def column(self, name: str, batch: NativeBatch) -> pa.Array:
        if name == "Tags":
            return self._tags(batch)
        if name in cur_values.MADE:
            make, _ = cur_values.MADE[name]
            return make(self._lines or CurLines(batch, self.report))
        return batch.column(self.report.name(_TAKEN[name]))

    def _tags(self, batch: NativeBatch) -> pa.Array:
        """Return the tags; None on the second lines of shares, which belong to the shared resource, not to the pod."""
        tags = batch.compute_once("tags", lambda file: read_tags(file, self.report))
        lines = self._lines
        if lines is None or lines.second is None or not pc.any(lines.is_share()).as_py():
            return tags
        taken_away = pc.and_(lines.second, lines.is_share())
        places = pa.array(range(batch.size), pa.int32())
        return tags.take(pc.if_else(taken_away, pa.scalar(None, pa.int32()), places))

    def notes(self) -> Sequence[str]:
        return [
            *cur_negations.left_out_notes(self.negations),
            *cur_negations.difference_notes(self._differences()),
            *cur_negations.missing_notes(self._all_negations()),
            *self._counts.notes(self.report),
        ]
