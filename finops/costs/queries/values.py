"""The values of a dimension."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

import ibis
import pyarrow as pa
from msgspec import structs

from accounts.models import Account
from finops.costs.aliases import candidates
from finops.costs.answer_warnings import AnswerFacts, warnings_for
from finops.costs.answers import (
    AccountRef,
    AppliedCostView,
    DimensionValue,
    DimensionValuesAnswer,
    MoneyAmount,
)
from finops.costs.dated_names import strip_date_prefix, with_date_prefix
from finops.costs.dimensions import Dimension, DimensionContext, no_values_clause, registry
from finops.costs.former_names import former_ids, with_newest_names
from finops.costs.queries.cost_view import ALL, apply_overrides
from finops.costs.queries.source_notes import source_notes
from finops.costs.queries.sources import load_sources
from finops.costs.queries.spend_lake import COST_COLUMNS, NO_CURRENCY, is_counted
from finops.costs.value_names import with_value_names
from finops.exchange_rates.missing_rates import unconverted_clause
from finops.lake import ranking
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lake.storage.manifest import Manifest
from finops.lib import clock
from finops.lib.cursors import next_cursor, offset_of
from finops.lib.errors import UserError
from finops.lib.periods import DateRange, resolve_range
from finops.lib.sentences import dimension_text, join_with_and, quote, truncate

MAX_LIMIT = 200
DEFAULT_DAYS = 365


@dataclass(frozen=True)
class _Page:
    """The query of the lake."""

    dimension: Dimension
    basis: str
    categories: tuple[str, ...]
    search: str
    days: DateRange
    limit: int
    offset: int
    by_name: tuple[str, ...] = ()
    """Values whose name of a higher package, or earlier name, contains the search."""


def list_dimension_values(
    account: Account,
    dimension: str,
    *,
    search: str = "",
    days: DateRange | None = None,
    limit: int = 50,
    cursor: str = "",
    deadline: float | None = None,
) -> DimensionValuesAnswer:
    """Return values of a dimension that have cost lines in these days (else the last 365 with data), by size of cost.

    `search` is a part of a value or its label, ignoring case, or an alias such as EC2. Amounts count as in the
    account's cost view; values are ranked by their largest amount in any one currency. `cursor` comes from the
    previous answer to the same question. One lake query. Raises UserError for an unknown dimension, a limit outside 1
    to 200 and a cursor of another question.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise UserError(f"limit: {limit} is not between 1 and {MAX_LIMIT}.", field="limit", value=limit)
    sources = load_sources(account)
    context = DimensionContext(account, sources.view.product_key, sources.names, sources.manifest)
    resolved = with_value_names(context, registry.resolve(context, dimension, field="dimension"))
    if search.strip():
        resolved = with_newest_names(context, resolved)
    span = days or sources.coverage.recent_days(DEFAULT_DAYS)
    question = (resolved.name, search.strip().lower(), span.start, span.end)
    view = apply_overrides(sources.view, basis=None, charge_categories=())
    page = _page(resolved, view, search.strip(), span, limit, offset_of(cursor, *question))
    values, total = _read_values(_run(account, page, deadline, sources.manifest))
    values = _with_names(resolved, values)
    after = page.offset + len(values)
    notes = source_notes(account, sources)
    facts = AnswerFacts(account, span, sources)
    return DimensionValuesAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=_summary(
            page, values, total, no_values_clause([resolved]) + _unconverted_clause(values) + notes.clause
        ),
        view=view,
        dimension=resolved.name,
        start_date=span.start,
        end_date=span.end,
        values=values,
        total_values=total,
        cursor=next_cursor(after, *question) if values and after < total else "",
        data_through=sources.coverage.complete_through,
        truncated=_truncation_note(page, len(values), total),
        warnings=[*notes.warnings, *resolved.warnings, *warnings_for(facts)],
        hint=_hint(page, values),
    )


def _page(
    dimension: Dimension, view: AppliedCostView, search: str, days: DateRange, limit: int, offset: int
) -> _Page:
    names = dimension.names.values_containing(search) if search and dimension.names is not None else ()
    former = former_ids(dimension, "contains", [search]) if search else ()
    return _Page(
        dimension=dimension,
        basis=view.basis,
        categories=() if view.charge_categories == [ALL] else tuple(view.charge_categories),
        search=search,
        days=days,
        limit=limit,
        offset=offset,
        by_name=(*names, *former),
    )


def _with_names(dimension: Dimension, values: list[DimensionValue]) -> list[DimensionValue]:
    if dimension.names is None or not values:
        return values
    names = dimension.names.names([each.value for each in values])
    return [structs.replace(each, label=names.get(each.value, each.label)) for each in values]


def days_from_arguments(
    account: Account, start_date: date | None, end_date: date | None, period: str | None
) -> DateRange | None:
    """Return the days from either kind of arguments; None without any. Raises UserError."""
    if not (start_date or end_date or period):
        return None
    return resolve_range(
        start=start_date,
        end=end_date,
        period=period,
        default="",
        today=clock.today(),
        fiscal_start_month=account.fiscal_start_month,
    )


def _run(account: Account, page: _Page, deadline: float | None, manifest: Manifest) -> pa.Table:
    return engine.run(
        account,
        Kind.COST,
        page.days.start,
        page.days.end,
        _ValuesBuild(replace(page, days=_ANY_DAYS)),
        tag_keys=page.dimension.tag_keys,
        allow_rollups=True,
        manifest=manifest,
        deadline=deadline,
    )


_ANY_DAYS = DateRange(date.min, date.max)


@dataclass(frozen=True)
class _ValuesBuild:
    """The values of a page. Equal for equal pages whatever the days, so that the lake compiles each shape once."""

    page: _Page

    def __call__(self, lines: Any) -> Any:
        return _expression(self.page, lines)


def _expression(page: _Page, table: Any) -> Any:
    lines = _lines(page, table)
    sums = lines.group_by(["value", "currency"]).aggregate(
        amount=lines.amount.sum().coalesce(_zero()), label=lines.label.max()
    )
    sizes = sums.group_by("value").aggregate(size=sums.amount.abs().max(), label=sums.label.max())
    on_page = ranking.top_n(sizes, page.limit, size=sizes["size"], keys=["value"], offset=page.offset)
    joined = on_page.inner_join(sums.select("value", "currency", "amount"), "value")
    return joined.select("value", "label", "place", "groups", "currency", "amount")


def _lines(page: _Page, table: Any) -> Any:
    value = page.dimension.value(table)
    label = page.dimension.label(table) if page.dimension.label else ibis.null("string")
    lines = (
        table.filter(_matches_search(page, value) | _matches_search(page, label)) if page.search else table
    )
    return lines.select(
        value=value.coalesce(page.dimension.absent),
        label=with_date_prefix(lines, label),
        currency=lines.currency.coalesce(NO_CURRENCY),
        amount=ibis.ifelse(is_counted(lines, page.categories), lines[COST_COLUMNS[page.basis]], _zero()),
    )


def _matches_search(page: _Page, text: Any) -> Any:
    folded = text.lower()
    part = folded.contains(ibis.literal(page.search).lower())
    texts = [*candidates(page.dimension.name, page.search), *page.by_name]
    names = [ibis.literal(name).lower() for name in texts]
    return (part | folded.isin(names)).fill_null(False)


def _zero() -> Any:
    return ibis.literal(Decimal(0), type="decimal(38, 18)")


def _read_values(table: pa.Table) -> tuple[list[DimensionValue], int]:
    values: dict[int, DimensionValue] = {}
    total = 0
    for row in sorted(table.to_pylist(), key=_listing_order):
        total = row["groups"]
        label = strip_date_prefix(row["label"])
        value = values.setdefault(
            row["place"],
            DimensionValue(value=row["value"], amounts=[], label=label if label != row["value"] else ""),
        )
        value.amounts.append(MoneyAmount(amount=row["amount"], currency=row["currency"]))
    return list(values.values()), total


def _listing_order(row: dict[str, Any]) -> tuple[int, Decimal, str]:
    """Return the sort key: rank, then for one value the currency with the largest amount."""
    return row["place"], row["amount"].copy_abs().copy_negate(), row["currency"]


def _unconverted_clause(values: list[DimensionValue]) -> str:
    return unconverted_clause(
        part.currency for each in values for part in each.amounts if part.amount and part.currency
    )


def _summary(page: _Page, values: list[DimensionValue], total: int, notes: str) -> str:
    clause = f" matching {truncate(page.search, 60)!r}" if page.search else ""
    count = f"{total} value{'' if total == 1 else 's'}"
    if [each.value for each in values] == [page.dimension.absent] and total == 1:
        count = "no value"
    return f"{_title(page.dimension)} has {count}{clause} in the cost lines from {page.days.start} to {page.days.end}{notes}."


def _title(dimension: Dimension) -> str:
    return f"Tag {quote(dimension.name[4:])}" if dimension.name.startswith("tag:") else dimension.title


def _truncation_note(page: _Page, count: int, total: int) -> str:
    if not count or page.offset + count >= total:
        return ""
    return f"{count} of {total} values. Use cursor for the next page, or search."


def _hint(page: _Page, values: list[DimensionValue]) -> str:
    name = dimension_text(page.dimension.name)
    if values:
        names = join_with_and([repr(value.value[:60]) for value in values[:2]])
        return f"Use them in querySpend to filter {name}, such as {names}, or group by {name}."
    if page.search:
        return "Search for a shorter part of the name, remove search, or use a longer period."
    return "Use a longer period. getAccountContext shows the days with data."
