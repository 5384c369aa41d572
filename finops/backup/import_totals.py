"""Comparison of cost in the lake with the totals that imports recorded: billed and effective by month and currency, exact."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from itertools import starmap
from typing import Any, Final

from django.db.models.fields.json import KeyTransform

from finops.costs.import_decision import month_of
from finops.costs.models import CostImport
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lake.storage.segments import segments_to_replace
from finops.lib.money import exact_sum
from finops.lib.sentences import exact_number

Sums = dict[str, tuple[Decimal, ...]]
"""Billed and effective cost by currency."""

_NAMES: Final = ("billed", "effective")


@dataclass(frozen=True)
class SourceKey:
    account_id: int
    source_id: int


@dataclass(frozen=True)
class ImportedMonth:
    """An import's recorded totals of a month, or of corrections of it from the file of `carried_by`."""

    month: date
    carried_by: date | None
    import_id: int
    sums: Sums


@dataclass
class _Files:
    paths: list[str] = field(default_factory=list)
    sums: list[Sums] = field(default_factory=list)


@dataclass(frozen=True)
class ImportDifference:
    """Files whose cost differs from their import's record."""

    paths: list[str]
    text: str
    source: SourceKey
    month: date


class CostComparison:
    """The live segments of cost that a check has read. `compared` counts those with an import's record: lines without an
    import, and imports of versions before reports had sums, cannot be compared."""

    def __init__(self) -> None:
        self._files: dict[SourceKey, dict[tuple[date, date | None], _Files]] = defaultdict(
            lambda: defaultdict(_Files)
        )
        self.segments = self.compared = 0

    def add(self, segment: LakeSegment, sums: Mapping[str, tuple[Decimal | None, ...]]) -> None:
        """Add a segment whose file was read."""
        files = self._files[SourceKey(segment.account_id, segment.source_id)][
            segment.month, segment.carried_by
        ]
        files.paths.append(segment.path)
        files.sums.append(
            {name: tuple(each or Decimal(0) for each in amounts) for name, amounts in sums.items()}
        )
        self.segments += 1

    def differences(self) -> Iterator[ImportDifference]:
        """Return the differences. Two queries a source, and one. A month that was replaced since its file was read is left
        out."""
        for source in {*self._files, *_sources_of_imports()}:
            recorded = {(each.month, each.carried_by): each for each in recorded_months(source)}
            live = _live_paths(source)
            for key, files in self._files.get(source, {}).items():
                if key not in recorded or live.get(key) != set(files.paths):
                    continue
                self.compared += len(files.paths)
                if text := _difference(recorded[key], _total(files.sums)):
                    yield ImportDifference(files.paths, text, source, key[0])
            yield from (
                ImportDifference(
                    [],
                    f"has no file; import {each.import_id} recorded {_amounts(each.sums)}",
                    source,
                    each.month,
                )
                for key, each in recorded.items()
                if key not in live
            )


def _sources_of_imports() -> Iterator[SourceKey]:
    done = CostImport.objects.unscoped().filter(status=CostImport.Status.DONE).order_by()
    return starmap(SourceKey, done.values_list("account_id", "source_id").distinct())


def recorded_months(source: SourceKey) -> list[ImportedMonth]:
    """The totals that the imports of a source recorded, without those that later ones replaced."""
    rows = (
        # Unscoped: an operator checks the lake of every account.
        CostImport.objects.unscoped()
        .filter(account_id=source.account_id, source_id=source.source_id, status=CostImport.Status.DONE)
        .order_by("finished_at", "pk")
        .values_list("pk", "months", KeyTransform("months", "report"))
    )
    recorded: list[ImportedMonth] = []
    for import_id, names, reports in rows:
        new = [_imported_month(import_id, report) for report in reports or [] if report["rows"]]
        carried = {(each.month, each.carried_by) for each in new if each.carried_by}
        replaced = segments_to_replace(recorded, set(map(month_of, names)), carried)
        recorded = [each for each in recorded if each not in replaced] + new
    return recorded


def _imported_month(import_id: int, report: Mapping[str, Any]) -> ImportedMonth:
    carried_by = report.get("carried_by")
    sums: Sums = {
        total["currency"]: (Decimal(total["billed_cost"]), Decimal(total["effective_cost"]))
        for total in report["totals"]
    }
    return ImportedMonth(
        month_of(report["month"]), month_of(carried_by) if carried_by else None, import_id, sums
    )


def _live_paths(source: SourceKey) -> dict[tuple[date, date | None], set[str]]:
    """The live paths, read after the imports: if they are still those that the check has read, the imports were unchanged
    too."""
    rows = LakeSegment.objects.unscoped().filter(
        account_id=source.account_id, source_id=source.source_id, kind=Kind.COST, retired_at=None
    )
    live: dict[tuple[date, date | None], set[str]] = defaultdict(set)
    for month, carried_by, path in rows.values_list("month", "carried_by", "path"):
        live[month, carried_by].add(path)
    return live


def _total(parts: list[Sums]) -> Sums:
    amounts: dict[str, list[tuple[Decimal, ...]]] = defaultdict(list)
    for part in parts:
        for currency, values in part.items():
            amounts[currency].append(values)
    return {
        currency: tuple(map(exact_sum, zip(*values, strict=True))) for currency, values in amounts.items()
    }


def _difference(recorded: ImportedMonth, actual: Sums) -> str:
    """Describe how the files differ from the import; empty where they do not."""
    nothing = (Decimal(0), Decimal(0))
    for currency in sorted({*recorded.sums, *actual}):
        expected = recorded.sums.get(currency, nothing)
        for name, here, there in zip(_NAMES, actual.get(currency, nothing), expected, strict=True):
            if here != there:
                return (
                    f"adds up to {exact_number(here)} {currency} {name}, "
                    f"import {recorded.import_id} recorded {exact_number(there)}"
                )
    return ""


def _amounts(sums: Sums) -> str:
    return ", ".join(
        f"{exact_number(amounts[0])} {currency} billed" for currency, amounts in sorted(sums.items())
    )
