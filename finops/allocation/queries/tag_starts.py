"""Suggestions for a new cost tag: tag keys that cover much cost, with the spellings of one key together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import ibis
from msgspec import Struct

from accounts.models import Account
from finops.allocation.queries.cost_tag_coverage import CurrencyCoverage
from finops.allocation.queries.cost_tag_preview import PREVIEW_DAYS
from finops.allocation.rules import Copy, CostTagDraft, Rule
from finops.allocation.rules.document import MAX_COPY_KEYS
from finops.costs.queries.cost_view import CostViewSettings
from finops.costs.queries.sources import load_sources
from finops.costs.queries.spend_lake import COST_COLUMNS, NO_CURRENCY, is_counted
from finops.lake.engine import engine
from finops.lake.schema import Kind, tag_column
from finops.lake.storage.manifest import cost_tag_keys
from finops.lib.money import exact_sum

SHOWN = 6
COUNTED_KEYS = 300
"""The maximum of keys whose cost is summed; each is a column to read."""


class TagStart(Struct, frozen=True, kw_only=True):
    """A tag key, with its other spellings, and the cost of lines that have any of them."""

    keys: tuple[str, ...]
    covered: tuple[CurrencyCoverage, ...]

    @property
    def draft(self) -> CostTagDraft:
        """The cost tag that copies this tag key."""
        key = re.sub(r"[^\w:.-]+", "-", self.keys[0]).strip("-").lower()
        return CostTagDraft(key=key, rules=(Rule(copy=Copy(keys=self.keys, normalise=("trim", "lower"))),))


def tag_starts(account: Account, *, deadline: float | None = None) -> list[TagStart]:
    """The tag keys that cover most cost of the last 30 days with data, at most six; `Env` and `env` count as one.

    Ranked by the largest currency. Cost: one lake query.
    """
    sources = load_sources(account)
    groups = group_spellings(cost_tag_keys(account, sources.manifest)[:COUNTED_KEYS])
    if not groups:
        return []
    period = sources.coverage.recent_days(PREVIEW_DAYS)
    table = engine.run(
        account,
        Kind.COST,
        period.start,
        period.end,
        _Build(tuple(groups), sources.view),
        tag_keys=[key for keys in groups for key in keys],
        manifest=sources.manifest,
        deadline=deadline,
    )
    rows = sorted(table.to_pylist(), key=lambda row: (-(row["total"] or 0), row["currency"]))
    starts = [
        TagStart(keys=keys, covered=tuple(_coverage_of(row, index) for row in rows))
        for index, keys in enumerate(groups)
    ]
    return sorted((start for start in starts if _covered_cost(start)), key=_covered_cost, reverse=True)[
        :SHOWN
    ]


def group_spellings(keys: Sequence[str]) -> list[tuple[str, ...]]:
    """Group keys that differ only in case, dashes, spaces and similar characters, in their original order."""
    groups: dict[str, list[str]] = {}
    for key in keys:
        groups.setdefault(re.sub(r"[\W_]+", "", key).casefold() or key, []).append(key)
    return [tuple(group[:MAX_COPY_KEYS]) for group in groups.values()]


def _coverage_of(row: dict[str, Any], index: int) -> CurrencyCoverage:
    zero = Decimal(0)
    return CurrencyCoverage(
        currency=row["currency"], caught=row[f"tagged{index}"] or zero, total=row["total"] or zero
    )


def _covered_cost(start: TagStart) -> Decimal:
    """The covered cost of the largest currency, else of the first one that has any."""
    return start.covered[0].caught if start.covered else exact_sum([])


@dataclass(frozen=True)
class _Build:
    """The cost per currency, and the cost of lines with any of the keys. Equal for equal keys."""

    groups: tuple[tuple[str, ...], ...]
    view: CostViewSettings

    def __call__(self, table: Any) -> Any:
        lines = table.filter(is_counted(table, self.view.charge_categories))
        amount = lines[COST_COLUMNS[self.view.basis]]
        tagged = {
            f"tagged{index}": amount.sum(
                where=ibis.coalesce(*[lines[tag_column(key)] for key in keys]).notnull()
            )
            for index, keys in enumerate(self.groups)
        }
        return lines.group_by(currency=lines.currency.coalesce(NO_CURRENCY)).aggregate(
            total=amount.sum(), **tagged
        )
