"""The arguments that several prompts have. All may be left out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Final, get_args

from finops.budgets.budgets_query import ScopeName
from finops.budgets.models import Budget
from finops.costs.aliases import candidates
from finops.costs.answers import DimensionValue
from finops.costs.dimensions import Dimension, registry
from finops.costs.queries import MAX_VALUES_LIMIT, currencies_of, list_dimension_values
from finops.costs.spend_query import BasisName
from finops.insights.savings.question import RuleName
from finops.lake.engine import LakeTimeout, LakeTooLarge, LakeUnavailable
from finops.lib.errors import UserError, unknown_value
from mcpserver.prompting.asked import Argument, Asked
from mcpserver.prompting.checking import MAX_VALUE
from mcpserver.prompting.choosing import choice, matching, one_of
from mcpserver.registry import Completion

COMPLETION_SECONDS: Final = 8.0
"""Somebody types: what takes longer (usual are milliseconds) is not suggested."""

MAX_AMOUNT: Final = Decimal(10) ** 12
ROUND_AMOUNTS: Final = ("10", "50", "100", "500", "1000", "5000", "10000")

TEAM = choice(
    "team",
    "Team",
    "Only cost of this team.",
    lambda asked: asked.teams,
    listed_by="listTeams",
)
SOURCE = choice(
    "source",
    "Cost source",
    "Only cost of this source, such as an AWS bill.",
    lambda asked: asked.source_names,
    listed_by="getAccountContext",
)
BASIS = choice(
    "basis",
    "Basis",
    "billed or amortized. Left out: the account's cost view.",
    lambda asked: get_args(BasisName),
)
CURRENCY = choice(
    "currency",
    "Currency",
    "Only amounts of this currency. Left out: all, each by itself.",
    lambda asked: currencies_of(asked.account, asked.sources, _soon(asked)),
    listed_by="getAccountContext",
)
RULE = choice(
    "rule",
    "Kind of saving",
    "Only savings of this kind. Left out: all.",
    lambda asked: get_args(RuleName),
)
SCOPE = choice(
    "scope",
    "Scope",
    "Only budgets of this scope. Left out: all.",
    lambda asked: get_args(ScopeName),
)

# Dimensions


def _dimension_names(asked: Asked) -> Iterator[str]:
    """What cost can be grouped by here; not by what it is narrowed to already."""
    for kind in registry.kinds():
        if not kind.is_family and not asked.given.get(kind.name):
            yield kind.name
    yield from (f"cost_tag:{key}" for key in asked.cost_tags)
    yield from (f"tag:{key}" for key in asked.dimensions.tag_keys)


def dimension(name: str, title: str, description: str) -> Argument[Dimension]:
    """An argument for a dimension that the account's cost has."""

    def read(asked: Asked, text: str) -> Dimension:
        return registry.resolve_in_data(asked.dimensions, text, field=name)

    def complete(asked: Asked, typed: str) -> Completion:
        return matching(_dimension_names(asked), typed)

    return Argument(name=name, title=title, description=description, read=read, complete=complete)


GROUP_BY = dimension("group_by", "Group by", "service, account, team, tag:env … Left out: service.")
FILTER_BY = dimension(
    "filter_by", "Filter by", "Only cost of one value of this dimension, such as region; with value."
)

# Values of dimensions


def _read_value(asked: Asked, text: str) -> str:
    found = asked.value(FILTER_BY)
    if found is None:
        raise UserError("value: say in filter_by which dimension it is of, such as region.", field="value")
    return _value_of(asked, found, "value", text)


def _complete_value(asked: Asked, typed: str) -> Completion:
    found = asked.value(FILTER_BY)
    return _values_like(asked, found.name, typed) if found else Completion()


VALUE = Argument(
    name="value",
    title="Value",
    description="The value of filter_by, such as eu-central-1.",
    read=_read_value,
    complete=_complete_value,
)
PROVIDER = Argument(
    name="provider",
    title="Provider",
    description="Only this provider, such as AWS.",
    read=lambda asked, text: _value_of(
        asked, registry.resolve(asked.dimensions, "provider"), "provider", text
    ),
    complete=lambda asked, typed: _values_like(asked, "provider", typed),
)


def _value_of(asked: Asked, found: Dimension, name: str, text: str) -> str:
    """The value or label that the text is; as it stands where the lake cannot say, and the tools will.

    Raises UserError with the nearest. One lake query, two for a value that is not there.
    """
    if text.casefold() == found.absent:
        return found.absent
    try:
        answer = list_dimension_values(
            asked.account, found.name, search=text, limit=MAX_VALUES_LIMIT, deadline=asked.call.deadline
        )
        names = _names(answer.values)
        known = {each.casefold(): each for each in names}
        if text.casefold() in known:
            return known[text.casefold()]
        if answer.total_values > len(names) or {
            each.casefold() for each in candidates(found.name, text)
        } & set(known):
            return text
        every = list_dimension_values(
            asked.account, found.name, limit=MAX_VALUES_LIMIT, deadline=asked.call.deadline
        )
    except (LakeTimeout, LakeTooLarge, LakeUnavailable):
        return text
    raise unknown_value(name, text, [*names, *_names(every.values)], listed_by="listDimensionValues")


def _values_like(asked: Asked, name: str, typed: str) -> Completion:
    """The values with the largest cost first."""
    answer = list_dimension_values(asked.account, name, search=typed, limit=100, deadline=_soon(asked))
    shown = [each.label or each.value for each in answer.values]
    return Completion(
        values=list(dict.fromkeys(each for each in shown if len(each) <= MAX_VALUE)),
        total=answer.total_values,
    )


def _names(values: Sequence[DimensionValue]) -> list[str]:
    return list(dict.fromkeys(name for each in values for name in (each.value, each.label) if name))


def _soon(asked: Asked) -> float:
    return min(asked.call.deadline, time.monotonic() + COMPLETION_SECONDS)


# Amounts


def amount(name: str, title: str, description: str) -> Argument[int | float]:
    """An argument for an amount of money, without a currency: a JSON number for a call."""

    def read(asked: Asked, text: str) -> int | float:
        try:
            found = Decimal(text)
        except InvalidOperation:
            found = Decimal("NaN")
        if not (found.is_finite() and 0 <= found < MAX_AMOUNT):
            raise UserError(
                f"{name}: {text!r} is no amount. Write a number from 0 on without its currency, such as 100 or 99.50.",
                field=name,
                value=text,
            )
        return int(found) if found == found.to_integral_value() else float(found)

    def complete(asked: Asked, typed: str) -> Completion:
        return matching((each for each in ROUND_AMOUNTS if each.startswith(typed)), typed)

    return Argument(name=name, title=title, description=description, read=read, complete=complete)


# Budgets


def _budget_names(asked: Asked) -> list[str]:
    """Of the scope that was given, else all."""
    scope = asked.given.get("scope", "").casefold()
    return [each.name for each in asked.budgets if scope in ("", each.scope)]


def _read_budget(asked: Asked, text: str) -> Budget:
    name = one_of("budget", text, _budget_names(asked), listed_by="listBudgets")
    return next(each for each in asked.budgets if each.name == name)


BUDGET: Argument[Budget] = Argument(
    name="budget",
    title="Budget",
    description="Only this budget, by its name. Left out: all.",
    read=_read_budget,
    complete=lambda asked, typed: matching(_budget_names(asked), typed),
)
