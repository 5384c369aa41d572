"""Resolve the rules of a cost tag to its dimension, for one account."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache

import msgspec
from django.db.models import TextField
from django.db.models.functions import Cast

from accounts.models import Account
from finops.allocation.cost_tags.expression import CostTagValue, Join, ResolvedRule, When
from finops.allocation.models import CostTag
from finops.allocation.rules import (
    AllOf,
    Condition,
    CostTagDraft,
    Not,
    Rule,
    RuleError,
    Test,
    read_rules,
)
from finops.costs.dimensions import UNTAGGED, Dimension, DimensionContext, registry
from finops.costs.filters import ResolvedFilter, resolved_filter
from finops.costs.queries.sources import Sources, load_sources
from finops.lib.errors import UserError, unknown_value
from finops.lib.sentences import truncate

PREFIX = "cost_tag:"

MAX_SIZE = 10_000
"""The maximum of conditions, including those of cost tags in use: SQL cannot name a value, so each use repeats it."""

_KNOWN = "cost_tags"


@dataclass
class ResolutionState:
    """The account's cost tags by case-folded key, and the keys being resolved at the moment, outermost first."""

    drafts: dict[str, CostTagDraft]
    resolving: list[str] = field(default_factory=list)


def resolution_state(context: DimensionContext) -> ResolutionState:
    """Return the cost tags loaded for this question. One query, on the first call."""
    if _KNOWN not in context.known:
        rows = CostTag.objects.filter(account=context.account).values_list(
            "key", Cast("rules", TextField()), "default_value", "description"
        )
        context.known[_KNOWN] = ResolutionState(
            {key.casefold(): _draft(key, *columns) for key, *columns in rows}
        )
    state: ResolutionState = context.known[_KNOWN]
    return state


@lru_cache(maxsize=1024)
def _draft(key: str, rules: str, default_value: str, description: str) -> CostTagDraft:
    """Parse a cost tag. Cached by all arguments, because parsing a hundred rules takes a millisecond."""
    return CostTagDraft(
        key=key,
        rules=read_rules(msgspec.json.decode(rules)),
        default_value=default_value,
        description=description,
    )


def context_of(account: Account, sources: Sources | None = None) -> DimensionContext:
    """Return a context for use outside a question. One query, two after a change; none with `sources`."""
    sources = sources or load_sources(account)
    return sources.context(account)


def resolve_cost_tag(context: DimensionContext, key: str) -> Dimension:
    """Return the cost tag dimension with this key, ignoring case. Raises UserError for an unknown key and a cycle."""
    state = resolution_state(context)
    draft = state.drafts.get(key.strip().casefold())
    if draft is None and not state.drafts:
        raise UserError(
            (
                f"cost_tag: {truncate(key, 60)!r} does not exist. The account has no cost tags; create "
                "them on the Cost tags page."
            ),
            field="cost_tag",
            value=key,
        )
    if draft is None:
        choices = [each.key for each in state.drafts.values()]
        raise unknown_value("cost_tag", key, choices, listed_by="listCostTags")
    return dimension_of(context, draft)


def dimension_of(context: DimensionContext, draft: CostTagDraft) -> Dimension:
    """Return the dimension of a draft. Raises RuleError for names that the account does not have, and for a cycle."""
    rules: list[ResolvedRule] = []
    dimensions: list[Dimension] = []
    with _guard_cycle(context, draft.key):
        for number, rule in enumerate(draft.rules):
            rules.append(_resolve_rule(context, rule, number, dimensions))
    value = CostTagValue(tuple(rules), draft.default_value)
    if value.size > MAX_SIZE:
        raise RuleError(
            f"the rules have {value.size:,} conditions including used cost tags; the maximum is "
            f"{MAX_SIZE:,}. Combine values in one condition, or use fewer cost tags.",
            ("rules",),
        )
    return Dimension(
        name=f"{PREFIX}{draft.key}",
        title=f"Cost tag {draft.key}",
        value=value,
        absent=UNTAGGED,
        tag_keys=tuple(dict.fromkeys(key for dimension in dimensions for key in dimension.tag_keys)),
        warnings=tuple(
            dict.fromkeys(sentence for dimension in dimensions for sentence in dimension.warnings)
        ),
    )


@contextmanager
def _guard_cycle(context: DimensionContext, key: str) -> Iterator[None]:
    state = resolution_state(context)
    if key.casefold() in [each.casefold() for each in state.resolving]:
        chain = " → ".join([*state.resolving, key])
        raise UserError(
            f"Circular reference in cost tag {key!r}: {chain}. Remove the condition on one of them.",
            field="rules",
            value=key,
        )
    state.resolving.append(key)
    try:
        yield
    finally:
        state.resolving.pop()


def _resolve_rule(
    context: DimensionContext, rule: Rule, number: int, dimensions: list[Dimension]
) -> ResolvedRule:
    try:
        tags = [registry.resolve(context, f"tag:{key}") for key in (rule.copy.keys if rule.copy else ())]
        when = None if rule.when is None else _condition(context, rule.when, dimensions)
    except RuleError:
        raise
    except UserError as error:
        raise RuleError(error.message, ("rules", number), name=rule.name, value=error.value) from error
    dimensions += tags
    return ResolvedRule(
        when=when,
        value=rule.value,
        copy=rule.copy,
        tags=tuple(tag.value for tag in tags),
        valid_from=rule.valid_from,
        valid_to=rule.valid_to,
    )


def _condition(context: DimensionContext, condition: Condition, dimensions: list[Dimension]) -> When:
    if isinstance(condition, Test):
        return _test(context, condition, dimensions)
    if isinstance(condition, Not):
        return Join("not", (_condition(context, condition.part, dimensions),))
    join = "all" if isinstance(condition, AllOf) else "any"
    return Join(join, tuple(_condition(context, part, dimensions) for part in condition.parts))


def _test(context: DimensionContext, test: Test, dimensions: list[Dimension]) -> ResolvedFilter:
    dimension = registry.resolve(context, test.dimension, field="dimension")
    dimensions.append(dimension)
    return resolved_filter(dimension, test.op, test.values)
