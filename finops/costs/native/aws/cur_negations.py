"""Savings plan negations, and whether they cancel the on-demand cost of the covered usage.

A report has covered usage at its on-demand cost and a SavingsPlanNegation that cancels it, by hour or by day. FOCUS
bills covered usage 0, so BilledCost leaves both out. What remains of the two in a billing month of an account becomes
lines of its own: BilledCost always adds up to the unblended cost of the report.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple, TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.rows import moments
from finops.costs.native.aws import cur_costs, line_types
from finops.costs.native.aws.cur_lines import CurLines
from finops.lake.schema import MONEY
from finops.lib.money import exact_sum

_PERIOD: Final = "bill_billing_period_start_date"
_TEXTS: Final[Mapping[str, str]] = {
    "SubAccountId": "line_item_usage_account_id",
    "BillingCurrency": "line_item_currency_code",
    "SubAccountName": "line_item_usage_account_name",
    "BillingAccountId": "bill_payer_account_id",
    "BillingAccountName": "bill_payer_account_name",
    "x_ServiceCode": "line_item_product_code",
}
_COLUMNS: Final = (*_TEXTS, "ServiceName", "RegionId")
_MOST_GROUPS: Final = 50_000
"""The maximum of groups; above it, they are grouped by month, account and currency only."""
MAX_SUMMARY_GROUPS: Final = 5_000
"""The maximum of groups in a summary, about 100 KB: the row of the import stores one for each part."""
_Key = TypeVar("_Key")
_SHOWN: Final = 5
_CENT: Final = Decimal("0.01")


class _Group(NamedTuple):
    """Covered usage and negations whose difference is one line; `other_values` are those of the other `_COLUMNS`."""

    month: date | None
    account: str | None
    currency: str | None
    other_values: tuple[str | None, ...]

    @property
    def bill(self) -> tuple[date | None, str | None, str | None]:
        """The key within which negations must cancel: billing month, account and currency."""
        return self.month, self.account, self.currency


class Negations:
    """The covered usage and negations of one file."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        """Negations by currency."""
        self.amounts: dict[str, Decimal] = {}
        """Their cost by currency."""
        self.covered: dict[str, Decimal] = {}
        """On-demand cost of covered usage by currency."""
        self.differences: dict[_Group, Decimal] = {}
        """Covered usage plus negations; 0 if they cancel."""

    def add(self, lines: CurLines, derived: Mapping[str, pa.Array]) -> None:
        """Add a batch's covered usage and negations; `lines` has no others, `derived` ServiceName and RegionId."""
        cost = pc.fill_null(cur_costs.cost_after_discounts(lines), pa.scalar(0, MONEY))
        columns = {
            "negation": lines.are(line_types.NEGATION),
            "month": _months(lines),
            **{name: _text(lines, column) for name, column in _TEXTS.items()},
            **derived,
        }
        table = pa.table({name: _plain(values) for name, values in columns.items()})
        sums = table.append_column("cost", cost).group_by(table.column_names, use_threads=False)
        for row in sums.aggregate([("cost", "sum"), ([], "count_all")]).to_pylist():
            sums_by_currency = self.amounts if row["negation"] else self.covered
            _add(sums_by_currency, row["BillingCurrency"] or "", row["cost_sum"])
            if row["negation"]:
                code = row["BillingCurrency"] or ""
                self.counts[code] = self.counts.get(code, 0) + row["count_all"]
            account, currency, *other_values = (row[name] for name in _COLUMNS)
            self._add(_Group(row["month"], account, currency, tuple(other_values)), row["cost_sum"])

    def _add(self, group: _Group, amount: Decimal) -> None:
        if group not in self.differences and len(self.differences) >= _MOST_GROUPS:
            group = group._replace(other_values=(None,) * len(group.other_values))
        _add(self.differences, group, amount)


class _Summary(msgspec.Struct, array_like=True):
    """`Negations` of many files, without what only their own notes need."""

    counts: dict[str, int]
    covered: dict[str, Decimal]
    differences: list[tuple[_Group, Decimal]]


def summary_of(files: Iterable[Negations]) -> bytes | None:
    """Return the negations of files for the process that reads the import's last file. None for more groups than
    MAX_SUMMARY_GROUPS."""
    summary = Negations()
    for file in files:
        for currency, count in file.counts.items():
            summary.counts[currency] = summary.counts.get(currency, 0) + count
        for currency, amount in file.covered.items():
            _add(summary.covered, currency, amount)
        for group, amount in file.differences.items():
            _add(summary.differences, group, amount)
    if len(summary.differences) > MAX_SUMMARY_GROUPS:
        return None
    encoded = _Summary(summary.counts, summary.covered, list(summary.differences.items()))
    return zlib.compress(msgspec.msgpack.encode(encoded))


def of_summary(summary: bytes) -> Negations:
    """Return the negations in a summary."""
    decoded = msgspec.msgpack.decode(zlib.decompress(summary), type=_Summary)
    negations = Negations()
    negations.counts, negations.covered = decoded.counts, decoded.covered
    negations.differences = dict(decoded.differences)
    return negations


Differences = Mapping[_Group, Decimal]


def kept_differences(files: Iterable[Negations]) -> Differences:
    """Return the remaining differences of negations and covered usage, over all files of an import.

    Empty for a month and account in which they cancel, whatever service or Region either names, and for an export
    that leaves negations out: its covered usage is billed 0 too.
    """
    files = list(files)
    if not any(file.counts for file in files):
        return {}
    groups: dict[_Group, Decimal] = {}
    bills: dict[tuple[object, ...], Decimal] = {}
    for file in files:
        for group, amount in file.differences.items():
            _add(groups, group, amount)
            _add(bills, group.bill, amount)
    return {group: amount for group, amount in groups.items() if amount and bills[group.bill]}


def difference_lines(differences: Differences) -> dict[str, pa.Array]:
    """Return the differences as FOCUS lines of the month, with category Adjustment."""
    size = len(differences)
    rows = [(group.account, group.currency, *group.other_values) for group in differences]
    months = [group.month and group.month.isoformat() for group in differences]
    texts = {
        **{name: [row[place] for row in rows] for place, name in enumerate(_COLUMNS)},
        "BillingPeriodStart": months,
        "ChargePeriodStart": months,
        "ChargeCategory": ["Adjustment"] * size,
        "ChargeFrequency": ["One-Time"] * size,
        "ChargeDescription": ["Savings plan negations that differ from the usage they cancel"] * size,
        "ProviderName": ["AWS"] * size,
        "x_LineItemType": [line_types.NEGATION] * size,
    }
    nothing = pa.array([Decimal(0)] * size, MONEY)
    return {
        **{name: pa.array(values, pa.string()) for name, values in texts.items()},
        **dict.fromkeys(("EffectiveCost", "ListCost", "ContractedCost"), nothing),
        "BilledCost": pa.array(differences.values(), MONEY),
    }


def difference_notes(differences: Differences) -> list[str]:
    """Return notes on months and accounts with a difference of a cent or more; less is rounding of the report."""
    totals: dict[tuple[str, str, str], Decimal] = {}
    for group, amount in differences.items():
        key = (
            f"{group.month:%Y-%m}" if group.month else "no month",
            group.account or "",
            group.currency or "",
        )
        _add(totals, key, amount)
    off = [(key, amount) for key, amount in sorted(totals.items()) if abs(amount) >= _CENT]
    if not off:
        return []
    parts = [
        f"{amount.normalize():f} {key[2]} of account {key[1]} in {key[0]}" for key, amount in off[:_SHOWN]
    ]
    more = f"; and {len(off) - _SHOWN:,} more" if len(off) > _SHOWN else ""
    differences_text = "; ".join(parts) + more
    return [
        (
            f"SavingsPlanNegation lines differ from the usage they cancel: {differences_text}. The difference was kept as billed "
            "cost, category Adjustment."
        )
    ]


def missing_notes(files: Iterable[Negations]) -> list[str]:
    """Return a note if an export has covered usage without negations."""
    files = list(files)
    if any(file.counts for file in files):
        return []
    covered: dict[str, Decimal] = {}
    for file in files:
        for currency, amount in file.covered.items():
            _add(covered, currency, amount)
    return [
        f"The report has no SavingsPlanNegation lines. Usage that a savings plan covers, {amount.normalize():f} {currency} on "
        "demand, is billed 0."
        for currency, amount in sorted(covered.items())
        if amount
    ]


def left_out_notes(file: Negations) -> list[str]:
    """Return notes with the number and total of negations that were left out."""
    return [
        f"{count:,} SavingsPlanNegation lines of {file.amounts[currency].normalize():f} {currency} were left out: FOCUS bills "
        "usage that a savings plan covers 0."
        for currency, count in sorted(file.counts.items())
    ]


def _add(sums: dict[_Key, Decimal], key: _Key, amount: Decimal) -> None:
    sums[key] = exact_sum([sums.get(key, Decimal(0)), amount])


def _months(lines: CurLines) -> pa.Array:
    if not _is_read(lines, _PERIOD):
        return pa.nulls(lines.batch.size, pa.date32())
    values = lines.batch.column(lines.columns.name(_PERIOD))
    starts = moments(values, _PERIOD, lambda: pa.nulls(lines.batch.size, pa.date32()))
    return pc.floor_temporal(starts, unit="month").cast(pa.date32())


def _text(lines: CurLines, name: str) -> pa.Array:
    return lines.text(name) if _is_read(lines, name) else pa.nulls(lines.batch.size, pa.string())


def _is_read(lines: CurLines, name: str) -> bool:
    return lines.has(name) and lines.batch.has(lines.columns.name(name))


def _plain(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
