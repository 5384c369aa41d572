"""The context of an account's cost data, for an assistant or page before its first question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from accounts.credentials import Access, Credential
from accounts.models import Account
from accounts.queries import glossary
from finops.costs.answer_warnings import AnswerFacts, warnings_for
from finops.costs.answers import (
    AccountRef,
    ContextAnswer,
    DimensionInfo,
    GlossaryEntry,
    TagKeyInfo,
)
from finops.costs.coverage import Coverage
from finops.costs.dimensions import registry
from finops.costs.queries.cost_view import apply_overrides
from finops.costs.queries.source_notes import source_notes
from finops.costs.queries.sources import HEALTHY, Sources, load_sources
from finops.costs.queries.spend_lake import NO_CURRENCY
from finops.lake.engine import engine
from finops.lake.schema import Kind, tag_column
from finops.lake.storage.manifest import cost_tag_keys
from finops.lib.money import ratio
from finops.lib.periods import DateRange
from finops.lib.sentences import quote

RECENT_DAYS = 30
SHOWN_KEYS = 50
SHOWN_SOURCES = 20
COUNTED_KEYS = 300
"""The maximum of keys whose coverage is counted; each is a column to read."""


def account_context(
    account: Account,
    credential: Credential | None = None,
    *,
    search: str = "",
    deadline: float | None = None,
) -> ContextAnswer:
    """Return account, access, cost view, currencies, sources, dimensions, tag keys and glossary; of the keys only those
    that contain `search`.

    Coverage of a tag key is its share of the cost lines of the last 30 days with data. Without a credential (a page),
    access is that of a reader. Two lake queries; four in PostgreSQL, seven the first time.
    """
    sources = load_sources(account)
    keys = cost_tag_keys(account, sources.manifest)
    tag_keys = containing(keys, search)
    coverage = sources.coverage
    shown_keys = _tag_keys(account, sources, tag_keys, deadline)
    by_health = sorted(sources.health.values(), key=lambda each: (each.status == HEALTHY, each.name))
    currencies = currencies_of(account, sources, deadline)
    notes = source_notes(account, sources)
    facts = AnswerFacts(account, coverage.recent_days(RECENT_DAYS), sources)
    return ContextAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=_summary(account, sources, currencies, notes.clause),
        access=str(credential.access if credential else Access.READ),
        today=coverage.today,
        fiscal_start_month=account.fiscal_start_month,
        view=apply_overrides(sources.view, basis=None, charge_categories=()),
        planning_basis=sources.view.planning_basis,
        currencies=currencies,
        data_from=coverage.first_day,
        data_through=coverage.complete_through,
        sources=by_health[:SHOWN_SOURCES],
        dimensions=dimension_infos(),
        tag_keys=shown_keys,
        x_columns=[f"x_{name}" for name in containing(keys.extensions, search)[:SHOWN_KEYS]],
        glossary=[GlossaryEntry(term=row.term, meaning=row.meaning) for row in glossary(account)],
        truncated=_truncation_note(tag_keys, shown_keys, sources),
        warnings=[*notes.warnings, *warnings_for(facts)],
        hint=_hint(coverage),
    )


def containing(names: Iterable[str], search: str) -> list[str]:
    """Return the names that contain a text, in any case; all without a text."""
    text = search.strip().casefold()
    return [name for name in names if text in name.casefold()]


def dimension_infos() -> list[DimensionInfo]:
    """Return every dimension, families as `prefix:<key>`."""
    return [
        DimensionInfo(name=kind.display_name, title=kind.title, description=kind.description)
        for kind in registry.kinds()
    ]


def currencies_of(account: Account, sources: Sources, deadline: float | None = None) -> list[str]:
    """Return every currency of the cost lines. One lake query."""
    coverage = sources.coverage
    if coverage.first_day is None or coverage.last_day is None:
        return []
    days = DateRange(coverage.first_day, coverage.last_day)
    table = _run(account, sources, days, _currency_expression, [], deadline)
    return sorted(table["currency"].to_pylist())


def _currency_expression(table: Any) -> Any:
    return table.select(currency=table.currency.coalesce(NO_CURRENCY)).distinct()


@dataclass(frozen=True)
class _TagCounts:
    """The number of lines with each key. Equal for equal keys, so that the lake compiles it once."""

    keys: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        tagged = {f"key{index}": table[tag_column(key)].count() for index, key in enumerate(self.keys)}
        return table.aggregate(lines=table.count(), **tagged)


def _tag_keys(
    account: Account, sources: Sources, keys: Sequence[str], deadline: float | None
) -> list[TagKeyInfo]:
    """Return the keys on most lines, most used first."""
    counted = list(keys)[:COUNTED_KEYS]
    if not counted:
        return []
    days = sources.coverage.recent_days(RECENT_DAYS)
    row = _run(account, sources, days, _TagCounts(tuple(counted)), counted, deadline).to_pylist()[0]
    lines = Decimal(row["lines"])
    infos = [
        TagKeyInfo(key=key, coverage=ratio(Decimal(row[f"key{index}"]), lines))
        for index, key in enumerate(counted)
    ]
    return sorted(infos, key=lambda info: (-(info.coverage or 0), info.key))[:SHOWN_KEYS]


def _run(
    account: Account,
    sources: Sources,
    days: DateRange,
    build: Any,
    keys: Sequence[str],
    deadline: float | None,
) -> pa.Table:
    return engine.run(
        account,
        Kind.COST,
        days.start,
        days.end,
        build,
        tag_keys=keys,
        manifest=sources.manifest,
        deadline=deadline,
        in_own_currency=True,
    )


def _summary(account: Account, sources: Sources, currencies: Sequence[str], problems: str) -> str:
    first, through = sources.coverage.first_day, sources.coverage.complete_through
    if first is None:
        return f"{quote(account.name)} has no cost data yet{problems}."
    if through is None:
        return f"{quote(account.name)} has cost data from {first}, but no complete day yet{problems}."
    count = len(sources.coverage.sources)
    noun = "source" if count == 1 else "sources"
    money = ", ".join(currencies)
    return f"{quote(account.name)} has cost data from {first} to {through} of {count} {noun}, in {money}{problems}."


def _truncation_note(keys: Sequence[str], shown: Sequence[TagKeyInfo], sources: Sources) -> str:
    parts = []
    if len(shown) < len(keys):
        parts.append(
            f"{len(shown)} of {len(keys)} tag keys listed, most used first; others work as tag:<key>."
        )
    if len(sources.health) > SHOWN_SOURCES:
        parts.append(f"{SHOWN_SOURCES} of {len(sources.health)} sources listed; see getDataHealth.")
    return " ".join(parts)


def _hint(coverage: Coverage) -> str:
    if coverage.first_day is None:
        return "Connect a cost source on the Connections page."
    return (
        "Use querySpend with a period and group_by, such as last_month by service, and "
        "listDimensionValues for exact filter values."
    )
