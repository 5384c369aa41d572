"""Scopes of budgets and alerts: the whole account, or one cost source, team or cost tag value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypedDict

from accounts.models import Account
from finops.allocation.models import CostTag, Team
from finops.budgets.models import Budget
from finops.costs.models import CostSource
from finops.costs.queries import MAX_VALUES_LIMIT, list_dimension_values
from finops.costs.queries.context import currencies_of
from finops.costs.queries.sources import load_sources
from finops.costs.spend_query import Filter
from finops.lib.cost_access import sees_all_of
from finops.lib.errors import UserError, nearest_choices, unknown_value
from finops.lib.sentences import join_with_and, quote, truncate

WHOLE_ACCOUNT: Final = "Whole account"

Reference = int | str | None
"""The name or the id of a row of the account."""


class ScopeRows(TypedDict):
    """The rows of a scope, by name or id."""

    cost_source: Reference
    team: Reference
    cost_tag: Reference
    cost_tag_value: str


@dataclass(frozen=True, kw_only=True)
class ScopeDraft:
    """A requested scope: rows by name or id, only those that the scope needs."""

    scope: str = Budget.Scope.ACCOUNT.value
    cost_source: Reference = None
    team: Reference = None
    cost_tag: Reference = None
    cost_tag_value: str = ""


@dataclass(frozen=True, kw_only=True)
class ResolvedScope:
    """The same scope with ids of rows, all of the account in scope."""

    scope: str
    cost_source_id: int | None = None
    team_id: int | None = None
    cost_tag_id: int | None = None
    cost_tag_value: str = ""


class HasScope(Protocol):
    """A row with a scope."""

    cost_source: CostSource | None
    team: Team | None
    cost_tag: CostTag | None
    cost_tag_value: str


_NEEDS: Final = {
    Budget.Scope.ACCOUNT.value: (),
    Budget.Scope.COST_SOURCE.value: ("cost_source",),
    Budget.Scope.TEAM.value: ("team",),
    Budget.Scope.COST_TAG.value: ("cost_tag", "cost_tag_value"),
}
_LISTED_BY: Final = {
    "cost_source": "getAccountContext",
    "team": "listTeams",
    "cost_tag": "listCostTags",
    "budget": "listBudgets",
    "channel": "listAlertChannels",
    "unit_metric": "listUnitMetrics",
}


def find_scope(draft: ScopeDraft, *, of: str = "a budget") -> ResolvedScope:
    """Return the rows that a draft names, of the account in scope. One query, none for the whole account.

    `of` names the owner of the scope, in words. Raises UserError for a row that is missing, belongs to another scope,
    or does not exist; a row of another account does not exist here.
    """
    needs = _NEEDS.get(draft.scope)
    if needs is None:
        raise unknown_value("scope", str(draft.scope), list(_NEEDS), show=str)
    for name in ("cost_source", "team", "cost_tag", "cost_tag_value"):
        _check_presence(name, getattr(draft, name), draft.scope, of, needed=name in needs)
    return ResolvedScope(
        scope=draft.scope,
        cost_source_id=find_row("cost_source", draft.cost_source, CostSource.objects, "name"),
        team_id=find_row("team", draft.team, Team.objects, "name"),
        cost_tag_id=find_row("cost_tag", draft.cost_tag, CostTag.objects, "key"),
        cost_tag_value=draft.cost_tag_value.strip(),
    )


def _check_presence(name: str, value: Any, scope: str, of: str, *, needed: bool) -> None:
    is_present = value is not None and str(value).strip() != ""
    if needed and not is_present:
        listed = f" Use {_LISTED_BY[name]}." if name in _LISTED_BY else ""
        raise UserError(f"{name} is missing: required for {of} of scope {scope}.{listed}", field=name)
    if is_present and not needed:
        raise UserError(
            f"{name} is not allowed with scope {scope}. Remove it, or choose another scope.",
            field=name,
            value=value,
        )


def find_row(field: str, reference: Reference, among: Any, column: str) -> int | None:
    """Return the id of the named row `among` rows of the account in scope (a manager or a query); None without a
    name. One query. Raises UserError for a row that does not exist."""
    if reference is None or str(reference).strip() == "":
        return None
    rows: Sequence[tuple[int, str]] = list(among.values_list("pk", column))
    text = str(reference).strip()
    named = [pk for pk, name in rows if name.casefold() == text.casefold()]
    by_id = [pk for pk, _ in rows if str(pk) == text]
    # A number is the id that a list gave; a text is a name, also one that is a number.
    matches = [*by_id, *named] if isinstance(reference, int) else [*named, *by_id]
    if not matches:
        raise unknown_value(field, text, [name for _, name in rows], listed_by=_LISTED_BY.get(field, ""))
    return matches[0]


def named_scope(*, cost_source: Reference, team: Reference, cost_tag: Reference, cost_tag_value: str) -> str:
    """Return the scope that the given fields imply, "" without any. With two at once, `find_scope` refuses one."""
    if cost_source not in (None, ""):
        return Budget.Scope.COST_SOURCE.value
    if team not in (None, ""):
        return Budget.Scope.TEAM.value
    return Budget.Scope.COST_TAG.value if cost_tag not in (None, "") or cost_tag_value else ""


def scope_name(row: HasScope) -> str:
    """Return the scope of a row in a few words. The scope's row must be loaded."""
    if row.cost_source is not None:
        return row.cost_source.name
    if row.team is not None:
        return row.team.name
    if row.cost_tag is not None:
        return f"{row.cost_tag.key}: {row.cost_tag_value}"
    return WHOLE_ACCOUNT


def filters_of(budget: Budget) -> list[Filter]:
    """Return the filters that select the same cost in the cost explorer."""
    if budget.cost_source is not None:
        return [Filter(dimension="source", values=[budget.cost_source.name])]
    if budget.team is not None:
        return [Filter(dimension="team", values=[budget.team.name])]
    if budget.cost_tag is not None:
        return [Filter(dimension=f"cost_tag:{budget.cost_tag.key}", values=[budget.cost_tag_value])]
    return []


NAMED = 5
MAX_LENGTH = 100


def check_scope_in_data(account: Account, budget: Budget) -> None:
    """Check that the account's cost has the currency and the cost tag value. Raises UserError that lists what it has.

    An account without cost may plan ahead. One lake query; with a cost tag one or two more.
    """
    currencies = currencies_of(account, load_sources(account))
    if currencies and budget.currency not in currencies:
        raise UserError(
            f"currency: the account has no cost in {budget.currency}, only in "
            f"{join_with_and(currencies)}. A budget counts cost in its own currency only.",
            field="currency",
            value=budget.currency,
        )
    if currencies and budget.cost_tag is not None:
        _check_value(account, f"cost_tag:{budget.cost_tag.key}", budget.cost_tag_value)


def _check_value(account: Account, dimension: str, value: str) -> None:
    matches = list_dimension_values(account, dimension, search=value, limit=MAX_VALUES_LIMIT)
    if value.casefold() in {each.value.casefold() for each in matches.values}:
        return
    valid_values = [
        each.value for each in list_dimension_values(account, dimension, limit=MAX_VALUES_LIMIT).values
    ]
    if value.casefold() in map(str.casefold, valid_values):
        return  # the name of no value, which a search does not find
    close = nearest_choices(value, valid_values) or valid_values[:NAMED]
    raise UserError(
        f"cost_tag_value: no cost has {dimension} {quote(value, MAX_LENGTH)}. Nearest: "
        f"{', '.join(quote(each, MAX_LENGTH) for each in close)}. Use listDimensionValues.",
        field="cost_tag_value",
        value=truncate(value, MAX_LENGTH),
    )


def visible_budgets(budgets: Iterable[Budget]) -> list[Budget]:
    """Return the budgets whose whole cost the reader can see: others would look far below their amount. Compares the
    filters of the access limit and the budget, not lines. The rows of scopes must be loaded."""
    return [
        each
        for each in budgets
        if sees_all_of((item.dimension, value) for item in filters_of(each) for value in item.values)
    ]
