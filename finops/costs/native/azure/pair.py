"""Actual and amortized cost of the same months as one bill.

All lines of the actual cost count except the use of reservations and savings plans; of the amortized cost only these
count. So billed cost comes from the first, effective cost from the second, and usage lines that both have count once.
Where the two ran at different times, lines in both differ: billed cost must be the invoice's, so those of the actual cost
count, although Microsoft's guide takes them from the amortized one.
"""

from __future__ import annotations

import enum
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.errors import FocusFileError
from finops.costs.focus.report import Findings
from finops.costs.native.azure.charges import CHARGE, Charges
from finops.costs.native.azure.decimals import decimals
from finops.costs.native.native_batch import NativeBatch
from finops.costs.native.native_format import OtherFiles, TableFile
from finops.lake.schema import MONEY
from finops.lib.money import exact_sum

if TYPE_CHECKING:
    from finops.costs.native.azure.mapping import AzureMapping

_ACTUAL_NAME: Final = re.compile("actual", re.IGNORECASE)
_AMORTIZED_NAME: Final = re.compile(r"amorti[sz]ed", re.IGNORECASE)
_TOGETHER: Final = "Import both exports, of actual and of amortized cost, of the same months together."


class ExportRole(enum.Enum):
    """Which of the two exports a file is; alone if the import has only one of them."""

    ALONE = "alone"
    ACTUAL = "actual"
    AMORTIZED = "amortized"


Sums = dict[tuple[str, str], Decimal]
"""Sums by month (2026-05), or subscription, and currency."""


class Tally:
    """The sums of one file."""

    def __init__(self) -> None:
        self.has_bought = self.has_amortized = self.has_committed = self.has_unknown = False
        self.rows = 0
        self.keys: set[str] = set()
        """Months, or subscriptions, of all lines."""
        self.on_demand: Sums = defaultdict(Decimal)
        """Lines that both exports have."""
        self.left_out: Sums = defaultdict(Decimal)
        """The use of commitments in the actual cost, or their purchases in the amortized cost; usually 0."""

    def detect_role(self, charges: Charges, cost: pa.Array) -> None:
        """Detect which of the two exports these lines belong to."""
        self.has_bought |= bool(pc.any(charges.bought).as_py())
        self.has_committed |= bool(pc.any(charges.committed).as_py())
        if not self.has_amortized and pc.any(charges.amortized).as_py():
            spent = pc.fill_null(pc.not_equal(decimals(cost), pa.scalar(0, MONEY)), False)
            self.has_amortized = bool(pc.any(pc.and_(charges.amortized, spent)).as_py())

    def count(
        self, charges: Charges, keys: pa.Array, currencies: pa.Array, cost: pa.Array, common: pa.Array
    ) -> None:
        """Add lines that both exports have, and lines that are left out."""
        amounts = decimals(cost)
        self.has_unknown |= bool(pc.any(pc.and_(pc.is_null(amounts), pc.is_valid(cost))).as_py())
        self.rows += len(common)
        self.keys.update(pc.unique(_plain(keys)).to_pylist())
        _add(self.on_demand, keys, currencies, amounts, pc.invert(charges.committed))
        _add(self.left_out, keys, currencies, amounts, pc.and_(charges.committed, pc.invert(common)))

    @property
    def role(self) -> ExportRole | None:
        """The export; None if no line decides, or lines disagree."""
        if self.has_bought == self.has_amortized:
            return None
        return ExportRole.ACTUAL if self.has_bought else ExportRole.AMORTIZED


def _add(sums: Sums, keys: pa.Array, currencies: pa.Array, amounts: pa.Array, mask: pa.Array) -> None:
    columns = {"key": _plain(keys), "currency": _plain(currencies), "amount": amounts}
    table = pa.table(columns).filter(mask)
    for row in table.group_by(["key", "currency"]).aggregate([("amount", "sum")]).to_pylist():
        key = row["key"] or "", row["currency"] or ""
        sums[key] = exact_sum([sums[key], row["amount_sum"] or Decimal(0)])


def _plain(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


class EarlierFile(NamedTuple):
    """A file of an earlier part of the import."""

    role: ExportRole
    tally: Tally


class _Summary(msgspec.Struct, array_like=True):
    """`EarlierFile` for another process."""

    role: ExportRole
    has_unknown: bool
    keys: list[str]
    on_demand: list[tuple[tuple[str, str], Decimal]]
    left_out: list[tuple[tuple[str, str], Decimal]]


def summary_of(mappings: Iterable[AzureMapping]) -> bytes:
    """Return what the notes on how the exports match need of these files, which were read."""
    tallies = [(mapping.role, mapping.tally) for mapping in mappings]
    summaries = [
        _Summary(
            role,
            tally.has_unknown,
            sorted(tally.keys),
            list(tally.on_demand.items()),
            list(tally.left_out.items()),
        )
        for role, tally in tallies
    ]
    return msgspec.msgpack.encode(summaries)


def _of_summary(summary: bytes) -> Iterator[EarlierFile]:
    for file in msgspec.msgpack.decode(summary, type=list[_Summary]):
        tally = Tally()
        tally.has_unknown, tally.keys = file.has_unknown, set(file.keys)
        tally.on_demand.update(file.on_demand)
        tally.left_out.update(file.left_out)
        yield EarlierFile(file.role, tally)


class Pair:
    """The files of both exports in one import, or in a part of it, in reading order. `more_follow`: later parts follow."""

    def __init__(
        self,
        mappings: Sequence[AzureMapping],
        earlier: Sequence[EarlierFile] = (),
        *,
        more_follow: bool = False,
    ) -> None:
        self._last, self._more_follow = mappings[-1], more_follow
        self._files: list[AzureMapping | EarlierFile] = [*earlier, *mappings]

    def notes(self, of: AzureMapping) -> list[str]:
        """Return, with the last file, notes on how the exports match. FocusFileError if their months differ."""
        if self._more_follow or of is not self._last:
            return []
        actual, amortized = self._sums(ExportRole.ACTUAL), self._sums(ExportRole.AMORTIZED)
        self._refuse_other_months(of)
        notes = [
            "BilledCost is of the actual cost, EffectiveCost of the amortized cost. Lines that both have count once."
        ]
        if any(file.tally.has_unknown for file in self._files):
            return [
                *notes,
                "The exports were not compared: their numbers are ambiguous.",
            ]
        notes += [
            f"The exports differ in {month}: lines that both have come to {_short(actual[month, currency])} {currency} in the "
            f"actual and {_short(amortized[month, currency])} {currency} in the amortized cost. The actual cost was used."
            for month, currency in sorted(actual.keys() | amortized.keys())
            if actual[month, currency] != amortized[month, currency]
        ]
        return notes + self._left_out_notes()

    def _left_out_notes(self) -> list[str]:
        charges = {
            ExportRole.ACTUAL: "Use of reservations and savings plans in the actual cost",
            ExportRole.AMORTIZED: "Purchases of reservations and savings plans in the amortized cost",
        }
        return [
            f"{charges[file.role]} was left out: {_short(amount)} {currency} in {month}."
            for file in self._files
            for (month, currency), amount in sorted(file.tally.left_out.items())
            if amount
        ]

    def _refuse_other_months(self, of: AzureMapping) -> None:
        months = {role: self._months(role) for role in (ExportRole.ACTUAL, ExportRole.AMORTIZED)}
        if months[ExportRole.ACTUAL] != months[ExportRole.AMORTIZED]:
            actual, amortized = (", ".join(sorted(each)) or "no month" for each in months.values())
            raise FocusFileError(
                f"{of.file_name}: the actual cost has lines of {actual}, the amortized cost of {amortized}. {_TOGETHER}"
            )

    def _months(self, role: ExportRole) -> set[str]:
        return {month for file in self._files if file.role is role for month in file.tally.keys}

    def _sums(self, role: ExportRole) -> Sums:
        sums: Sums = defaultdict(Decimal)
        for file in self._files:
            if file.role is role:
                for key, amount in file.tally.on_demand.items():
                    sums[key] = exact_sum([sums[key], amount])
        return sums


def _short(amount: Decimal) -> str:
    return f"{amount.normalize():f}"


def alone_note(mapping: AzureMapping) -> str:
    """Return a note on which measure is a copy, if the import has one export only."""
    tally = mapping.tally
    if tally.has_bought and tally.has_amortized:
        return (
            "The file has purchases of reservations or savings plans and their use with a cost, so cost may be counted twice. "
            f"{_TOGETHER}"
        )
    if tally.has_amortized:
        return (
            "BilledCost is a copy of EffectiveCost: the file is of amortized cost, which spreads purchases of reservations and "
            f"savings plans, and does not say what was invoiced. {_TOGETHER}"
        )
    if tally.has_committed:
        return (
            "EffectiveCost is a copy of BilledCost: the file is of actual cost, so reservations and savings plans count on the "
            f"day they were billed. {_TOGETHER}"
        )
    if "charge_type" in mapping.place:
        return "BilledCost and EffectiveCost are the same: no line is of a reservation or savings plan."
    return (
        "EffectiveCost is a copy of BilledCost: the export does not identify reservations or savings plans."
    )


def survey(mapping: AzureMapping, file: TableFile) -> Tally:
    """Read a file up to the line that decides which export it is; to its end if none does."""
    tally = Tally()
    few = [file.names.index(name) for name in mapping.native(*CHARGE, "subscription_id", "currency")]
    cost = file.names.index(mapping.place["cost"])
    for raw in file.batches(few, [cost]):
        size = len(raw[cost])
        batch = NativeBatch({file.names[place]: values for place, values in raw.items()}, size, Findings())
        charges = Charges(batch, mapping.place)
        tally.detect_role(charges, raw[cost])
        if tally.role:
            return tally
        subscriptions, currencies = mapping.text("subscription_id", batch), mapping.text("currency", batch)
        tally.count(charges, subscriptions, currencies, raw[cost], pa.repeat(pa.scalar(True), size))
    return tally


def assign_roles(mappings: Sequence[AzureMapping], paths: Sequence[Path], tallies: Sequence[Tally]) -> None:
    """Assign each file its export if there are files of both. FocusFileError for one that cannot be determined.

    Lines take precedence over the file's name, and the owner's name over that on disk, where a sync adds the type.
    """
    roles = [
        tally.role or _role_by_name(mapping.file_name) or _role_by_name(path.name)
        for mapping, path, tally in zip(mappings, paths, tallies, strict=True)
    ]
    _find_twins(roles, tallies)
    if not {ExportRole.ACTUAL, ExportRole.AMORTIZED} <= set(roles):
        return
    for mapping, role in zip(mappings, roles, strict=True):
        if role is None:
            raise FocusFileError(
                f"{mapping.file_name}: no line and no part of its name says whether it is of actual or of amortized cost, and there "
                "are files of both. Put ActualCost or AmortizedCost into its name."
            )
        mapping.role = role
    pair = Pair(mappings)
    for mapping in mappings:
        mapping.join(pair)


def assign_part(mappings: Sequence[AzureMapping], others: OtherFiles) -> None:
    """Assign files of a part of an import the exports that were decided by all files."""
    for mapping, role in zip(mappings, others.decisions, strict=True):
        mapping.role = ExportRole(role)
    if any(mapping.role is not ExportRole.ALONE for mapping in mappings):
        earlier = [file for summary in others.earlier for file in _of_summary(summary)]
        pair = Pair(mappings, earlier, more_follow=others.more_follow)
        for mapping in mappings:
            mapping.join(pair)


def _role_by_name(name: str) -> ExportRole | None:
    actual, amortized = bool(_ACTUAL_NAME.search(name)), bool(_AMORTIZED_NAME.search(name))
    if actual == amortized:
        return None
    return ExportRole.ACTUAL if actual else ExportRole.AMORTIZED


def _find_twins(roles: list[ExportRole | None], tallies: Sequence[Tally]) -> None:
    """Return two files without commitments with the same lines and sums of each subscription: one per export."""
    first_places: dict[tuple[object, ...], int] = {}
    for place, (role, tally) in enumerate(zip(roles, tallies, strict=True)):
        key = (tally.rows, *sorted(tally.on_demand.items()))
        if role is not None or not any(tally.on_demand.values()):
            continue
        if key in first_places:
            roles[first_places[key]], roles[place] = ExportRole.ACTUAL, ExportRole.AMORTIZED
        else:
            first_places[key] = place
