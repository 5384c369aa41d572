"""Arguments of prompts, and how each is resolved and completed. All are optional."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from typing import Final, get_args

from finops.budgets.models import Budget
from finops.budgets.schemas import ScopeName
from finops.costs.aliases import candidates
from finops.costs.answers import DimensionValue
from finops.costs.dimensions import Dimension, registry
from finops.costs.queries import MAX_VALUES_LIMIT, currencies_of, list_dimension_values
from finops.costs.spend_query import BasisName
from finops.insights.cost_scope import SCOPES
from finops.insights.savings.schemas import RuleName
from finops.lake.engine.engine import LakeTimeout, LakeTooLarge, LakeUnavailable
from finops.lib.errors import UserError, unknown_value
from mcpserver.prompt_builder.prompt_context import Argument, PromptContext
from mcpserver.prompt_builder.prompt_requests import MAX_VALUE
from mcpserver.registry import Completion

Choices = Callable[[PromptContext], Iterable[str]]


def choice(
    name: str, title: str, description: str, choices: Choices, *, listed_by: str = ""
) -> Argument[str]:
    """Return an argument with choices; `listed_by` is the tool that lists them."""

    def read(ctx: PromptContext, text: str) -> str:
        return find_choice(name, text, list(choices(ctx)), listed_by=listed_by)

    def complete(ctx: PromptContext, typed: str) -> Completion:
        return match_choices(choices(ctx), typed)

    return Argument(name=name, title=title, description=description, read=read, complete=complete)


def find_choice(name: str, text: str, choices: Sequence[str], *, listed_by: str = "") -> str:
    """Return the choice that a text names. Raises UserError with the nearest choices."""
    for each in choices:
        if each.casefold() == text.casefold():
            return each
    if not choices:
        raise UserError(f"{name}: the account has none yet. Remove {name}.", field=name, value=text)
    raise unknown_value(name, text, choices, listed_by=listed_by)


def match_choices(choices: Iterable[str], typed: str) -> Completion:
    """Return the choices that contain the typed text: first those that begin with the text, then the others, in the
    given order."""
    search = typed.casefold()
    matches = [
        each for each in dict.fromkeys(choices) if search in each.casefold() and len(each) <= MAX_VALUE
    ]
    ordered_values = sorted(matches, key=lambda each: not each.casefold().startswith(search))
    return Completion(values=ordered_values, total=len(ordered_values))


COMPLETION_SECONDS: Final = 8.0
"""Time limit of suggestions while a person types; usually they take milliseconds."""

MAX_AMOUNT: Final = Decimal(10) ** 12
ROUND_AMOUNTS: Final = ("10", "50", "100", "500", "1000", "5000", "10000")

TEAM = choice(
    "team",
    "Team",
    "Only cost of this team.",
    lambda ctx: ctx.teams,
    listed_by="listTeams",
)
SOURCE = choice(
    "cost_source",
    "Cost source",
    "Only cost of this source, such as an AWS bill.",
    lambda ctx: ctx.source_names,
    listed_by="getAccountContext",
)
BASIS = choice(
    "basis",
    "Basis",
    "billed or amortized. Default: the account's cost view.",
    lambda ctx: get_args(BasisName),
)
CURRENCY = choice(
    "currency",
    "Currency",
    "Only amounts of this currency. Default: all, separately.",
    lambda ctx: currencies_of(ctx.account, ctx.sources, _completion_deadline(ctx)),
    listed_by="getAccountContext",
)
RULE = choice(
    "rule",
    "Kind of saving",
    "Only savings of this kind. Default: all.",
    lambda ctx: get_args(RuleName),
)
SCOPE = choice(
    "scope",
    "Scope",
    "Only budgets of this scope. Default: all.",
    lambda ctx: get_args(ScopeName),
)

# Dimensions


def _dimension_names(ctx: PromptContext) -> Iterator[str]:
    """Return the dimensions to group cost by, without those that already filter it."""
    filtered = {SCOPES.get(name, name) for name, text in ctx.argument_texts.items() if text}
    for kind in registry.kinds():
        if not kind.is_family and kind.name not in filtered:
            yield kind.name
    yield from (f"cost_tag:{key}" for key in ctx.cost_tags)
    yield from (f"tag:{key}" for key in ctx.dimensions.tag_keys)


def dimension(name: str, title: str, description: str) -> Argument[Dimension]:
    """Return an argument for a dimension of the account's cost."""

    def read(ctx: PromptContext, text: str) -> Dimension:
        return registry.resolve_in_data(ctx.dimensions, text, field=name)

    def complete(ctx: PromptContext, typed: str) -> Completion:
        return match_choices(_dimension_names(ctx), typed)

    return Argument(name=name, title=title, description=description, read=read, complete=complete)


GROUP_BY = dimension("group_by", "Group by", "service, account, team, tag:env … Default: service.")
FILTER_BY = dimension(
    "filter_by", "Filter by", "Only cost of one value of this dimension, such as region; with value."
)

# Values of dimensions


def _read_value(ctx: PromptContext, text: str) -> str:
    filter_dimension = ctx.value(FILTER_BY)
    if filter_dimension is None:
        raise UserError("value: set filter_by to its dimension, such as region.", field="value")
    return _value_of(ctx, filter_dimension, "value", text)


def _complete_value(ctx: PromptContext, typed: str) -> Completion:
    filter_dimension = ctx.value(FILTER_BY)
    return _suggest_values(ctx, filter_dimension.name, typed) if filter_dimension else Completion()


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
    read=lambda ctx, text: _value_of(ctx, registry.resolve(ctx.dimensions, "provider"), "provider", text),
    complete=lambda ctx, typed: _suggest_values(ctx, "provider", typed),
)


def _value_of(ctx: PromptContext, filter_dimension: Dimension, name: str, text: str) -> str:
    """Return the value of a text, which may be a label; unchanged if the lake cannot answer, and then the tools
    decide.

    Raises UserError with the nearest. One lake query, two for a missing value.
    """
    if text.casefold() == filter_dimension.absent:
        return filter_dimension.absent
    try:
        answer = list_dimension_values(
            ctx.account,
            filter_dimension.name,
            search=text,
            limit=MAX_VALUES_LIMIT,
            deadline=ctx.call.deadline,
        )
        names = _names(answer.values)
        names_by_key = {each.casefold(): each for each in names}
        if text.casefold() in names_by_key:
            return names_by_key[text.casefold()]
        if answer.total_values > len(names) or {
            each.casefold() for each in candidates(filter_dimension.name, text)
        } & set(names_by_key):
            return text
        every = list_dimension_values(
            ctx.account, filter_dimension.name, limit=MAX_VALUES_LIMIT, deadline=ctx.call.deadline
        )
    except (LakeTimeout, LakeTooLarge, LakeUnavailable):
        return text
    raise unknown_value(name, text, [*names, *_names(every.values)], listed_by="listDimensionValues")


def _suggest_values(ctx: PromptContext, name: str, typed: str) -> Completion:
    """Return the matching values with the largest cost first."""
    answer = list_dimension_values(
        ctx.account, name, search=typed, limit=100, deadline=_completion_deadline(ctx)
    )
    names = [each.label or each.value for each in answer.values]
    return Completion(
        values=list(dict.fromkeys(each for each in names if len(each) <= MAX_VALUE)),
        total=answer.total_values,
    )


def _names(values: Sequence[DimensionValue]) -> list[str]:
    return list(dict.fromkeys(name for each in values for name in (each.value, each.label) if name))


def _completion_deadline(ctx: PromptContext) -> float:
    return min(ctx.call.deadline, time.monotonic() + COMPLETION_SECONDS)


# Amounts


def amount(name: str, title: str, description: str) -> Argument[int | float]:
    """Return an argument for an amount of money, without a currency: a JSON number for a call. Its `read` raises
    UserError for other texts."""

    def read(ctx: PromptContext, text: str) -> int | float:
        number = _number(text)
        if not (number.is_finite() and 0 <= number < MAX_AMOUNT):
            raise UserError(
                (
                    f"{name}: {text!r} is not an amount. Enter a number of 0 or more without currency, "
                    "such as 100 or 99.50."
                ),
                field=name,
                value=text,
            )
        return _json_number(number)

    def complete(ctx: PromptContext, typed: str) -> Completion:
        return match_choices((each for each in ROUND_AMOUNTS if each.startswith(typed)), typed)

    return Argument(name=name, title=title, description=description, read=read, complete=complete)


def _number(text: str) -> Decimal:
    """Return the number of a text; NaN for a text that is no number."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal("NaN")


def _json_number(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


# Budgets


def _budget_names(ctx: PromptContext) -> list[str]:
    """Return the names of budgets with the given scope, else of all budgets."""
    scope = ctx.argument_texts.get("scope", "").casefold()
    return [each.name for each in ctx.budgets if scope in ("", each.scope)]


def _read_budget(ctx: PromptContext, text: str) -> Budget:
    name = find_choice("budget", text, _budget_names(ctx), listed_by="listBudgets")
    return next(each for each in ctx.budgets if each.name == name)


BUDGET: Argument[Budget] = Argument(
    name="budget",
    title="Budget",
    description="Only this budget, by name. Default: all.",
    read=_read_budget,
    complete=lambda ctx, typed: match_choices(_budget_names(ctx), typed),
)
