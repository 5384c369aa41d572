"""Values of the team key with their cost: the values that a team owns, and the values without an owner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal

from accounts.models import Account
from finops.allocation.models import Team, TeamValue
from finops.allocation.team_dimension import NO_TEAM
from finops.costs.answers import MoneyAmount, SpendAnswer, SpendRow
from finops.costs.dimensions import DimensionContext, registry
from finops.costs.queries import query_spend
from finops.costs.queries.sources import Sources
from finops.costs.spend_query import Filter, SpendQuery
from finops.lib.money import exact_sum

DAYS = 30
UNOWNED_SHOWN = 20
EVERY_VALUE = 100_000


@dataclass(frozen=True)
class OwnedValue:
    """A value that a team owns, as stored. `amounts` is empty when the value has no cost in the days."""

    pk: int
    value: str
    label: str = ""
    amounts: tuple[MoneyAmount, ...] = ()


@dataclass(frozen=True)
class UnownedValue:
    """A value that no team owns. `can_be_owned` is False for cost without any value of the team key."""

    value: str
    label: str
    amounts: tuple[MoneyAmount, ...]
    can_be_owned: bool = True


@dataclass(frozen=True)
class UnownedValues:
    """The costliest values without an owner over `days` days, and the number and cost of the values not listed."""

    days: int = DAYS
    values: list[UnownedValue] = field(default_factory=list)
    more: int = 0
    more_amounts: tuple[MoneyAmount, ...] = ()


def owned_values(account: Account, team: Team, key: str, sources: Sources, newest: date) -> list[OwnedValue]:
    """Return the team's values with their cost of the 30 days to the newest data, largest first. Two lake queries."""
    team_values = list(TeamValue.objects.filter(account=account, team=team))
    if not (team_values and key):
        return [OwnedValue(each.pk, each.value) for each in team_values]
    answer = _query(account, sources, _question(key, team.name, newest))
    by_value = _by_value(answer, str.casefold)
    owned = [
        OwnedValue(each.pk, each.value, *_figures(by_value.get(each.value.casefold(), [])))
        for each in team_values
    ]
    return sorted(owned, key=lambda each: (-_size(each.amounts), each.value.casefold()))


def unowned_values(
    account: Account,
    key: str,
    sources: Sources,
    newest: date,
    *,
    search: str = "",
    limit: int = UNOWNED_SHOWN,
) -> UnownedValues:
    """Return the values without an owner by their cost of the 30 days to the newest data. Two lake queries.

    `search` is a part of the value or its label, ignoring case; cost without a value is then left out.
    """
    if not key:
        return UnownedValues()
    question = _question(key, NO_TEAM, newest, search=search, limit=limit)
    answer = _query(account, sources, question)
    absent = registry.resolve(DimensionContext(account, sources.view.product_key), key).absent
    other_rows = [row for row in answer.rows if row.other_groups]
    shown = [
        UnownedValue(value, *_figures(rows), can_be_owned=value != absent)
        for value, rows in _by_value(answer).items()
    ]
    return UnownedValues(
        values=sorted(shown, key=lambda each: -_size(each.amounts)),
        more=max((row.other_groups for row in other_rows), default=0),
        more_amounts=tuple(MoneyAmount(amount=row.amount, currency=row.currency) for row in other_rows),
    )


def _question(key: str, team: str, newest: date, *, search: str = "", limit: int = EVERY_VALUE) -> SpendQuery:
    filters = [Filter(dimension="team", values=[team])]
    if search:
        filters.append(Filter(dimension=key, op="contains", values=[search]))
    return SpendQuery(
        start_date=newest - timedelta(days=DAYS - 1),
        end_date=newest,
        group_by=[key],
        filters=filters,
        limit=limit,
    )


def _query(account: Account, sources: Sources, question: SpendQuery) -> SpendAnswer:
    return query_spend(account, question, sources=sources)


def _by_value(answer: SpendAnswer, key: Callable[[str], str] = str) -> dict[str, list[SpendRow]]:
    """Group the listed rows by value, the answer's first currency first. `key` maps spellings of a value to one."""
    by_value: dict[str, list[SpendRow]] = {}
    for row in answer.rows:
        if not row.other_groups:
            by_value.setdefault(key(row.group[answer.group_by[0]]), []).append(row)
    return by_value


def _figures(rows: Sequence[SpendRow]) -> tuple[str, tuple[MoneyAmount, ...]]:
    """Return the label of a value and its amounts."""
    label = next((label for row in rows for label in row.labels.values()), "")
    amounts = {
        currency: exact_sum(row.amount for row in rows if row.currency == currency)
        for currency in dict.fromkeys(row.currency for row in rows)
    }
    return label, tuple(MoneyAmount(amount=amount, currency=each) for each, amount in amounts.items())


def _size(amounts: Iterable[MoneyAmount]) -> Decimal:
    return max((each.amount.copy_abs() for each in amounts), default=Decimal(0))
