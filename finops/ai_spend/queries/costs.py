"""Billed AI cost: sums of cost lines by model, token type, day and group, and the token quantities on bills."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import reduce
from operator import and_
from typing import Any, Final, NamedTuple

import ibis

from accounts.models import Account
from finops.ai_spend.ai_spend_query import AiSpendQuery
from finops.ai_spend.dimensions import MODEL, TOKEN_TYPE, VENDOR, ModelValue, TokenTypeValue
from finops.costs.dimensions import NONE, Dimension, registry
from finops.costs.filters import ResolvedFilter, all_of, resolved_filter
from finops.costs.queries.cost_sums import CostSums
from finops.costs.queries.sources import Sources
from finops.costs.queries.spend import Question, find_values, plan_of, resolve_query, run_plan
from finops.costs.queries.spend_facts import SpendFacts, with_names
from finops.costs.queries.spend_lake import ALL_GROUPS, COST_COLUMNS, NO_CURRENCY, SpendPlan, is_counted
from finops.costs.split_registry import SplitResult
from finops.costs.value_names import with_value_names
from finops.lake.engine import engine
from finops.lake.schema import ExtensionKey, Kind
from finops.lib.money import exact_product


def ai_lines(question: Question) -> ResolvedFilter:
    """The filter for lines of AI spend."""
    vendor = registry.resolve(question.context, VENDOR)
    return resolved_filter(vendor, "not_in", [NONE])


class DayTokens(NamedTuple):
    """Tokens on a bill on one day, and the cost of those lines."""

    model: str
    token_type: str
    day: date
    currency: str
    tokens: Decimal | None
    amount: Decimal


@dataclass(frozen=True)
class AiCosts:
    """Billed AI spend by model, token type and day, for a resolved question."""

    question: Question
    plan: SpendPlan
    sums: CostSums
    tokens: Sequence[DayTokens]

    @property
    def sources(self) -> Sources:
        return self.sums.facts.sources


def read_ai_costs(account: Account, query: AiSpendQuery, sources: Sources, deadline: float | None) -> AiCosts:
    """Read the billed AI spend. Cost: two lake queries, one or two more with filters. Raises UserError as
    `query_spend` does."""
    question = resolve_query(account, query.spend_query(), sources)
    dimensions = tuple(registry.resolve(question.context, name) for name in (MODEL, TOKEN_TYPE))
    plan = _plan(question, dimensions, granularity="day")
    sums = run_plan(account, plan, deadline, sources.manifest)
    facts = SpendFacts(
        account=account,
        query=question.query,
        plan=plan,
        view=question.view,
        compared=question.compared,
        sources=sources,
        findings=find_values(account, plan_of(question), deadline, sources.manifest, SplitResult()),
    )
    tokens = _read_tokens(account, plan, deadline, sources)
    return AiCosts(question, plan, CostSums(facts, sums), tokens)


def read_groups(account: Account, costs: AiCosts, dimension: Dimension, deadline: float | None) -> CostSums:
    """The same cost by another dimension, over the whole range. One lake query."""
    plan = _plan(costs.question, (with_value_names(costs.question.context, dimension),), granularity="none")
    plan = replace(plan, compared=None, previous=None, source_overrides=())
    sums = with_names(plan, run_plan(account, plan, deadline, costs.sources.manifest))
    return CostSums(replace(costs.sums.facts, plan=plan), sums)


def _plan(question: Question, dimensions: tuple[Dimension, ...], *, granularity: str) -> SpendPlan:
    return replace(
        plan_of(question),
        dimensions=dimensions,
        filters=(*question.filters, ai_lines(question)),
        granularity=granularity,
        limit=ALL_GROUPS,
        order_by="amount",
    )


_UNIT: Final = re.compile(r"^([\d,.]*)\s*([kmb]|thousand|million|billion)?\s*(?:-?\s*)(tokens?|count)?$")
_POWERS: Final = {
    "": 1,
    "k": 10**3,
    "thousand": 10**3,
    "m": 10**6,
    "million": 10**6,
    "b": 10**9,
    "billion": 10**9,
}


def tokens_per_unit(unit: str | None) -> Decimal | None:
    """How many tokens one pricing unit of a bill stands for: `Tokens`, `1M Tokens`, `1K`, `1000 tokens`, `count` of
    Vertex AI. None if the unit does not say, as `Units` of the AWS Marketplace."""
    match = _UNIT.match((unit or "").strip().lower())
    if match is None or not any(match.groups()):
        return None
    number = match[1].replace(",", "")
    if number.count(".") > 1 or number == ".":
        return None
    return exact_product(Decimal(number or 1), Decimal(_POWERS[match[2] or ""]))


@dataclass(frozen=True)
class _TokensBuild:
    """Quantities of the lines with a token type, by model, token type, day, currency and unit."""

    filters: tuple[ResolvedFilter, ...]
    basis: str
    categories: tuple[str, ...]

    def __call__(self, table: Any) -> Any:
        token_type = TokenTypeValue()(table)
        conditions = [*all_of(table, self.filters), is_counted(table, self.categories), token_type.notnull()]
        lines = table.filter(reduce(and_, conditions))
        has_quantity = lines.consumed_quantity.notnull()
        return lines.group_by(
            model=ModelValue()(lines).coalesce(NONE),
            token_type=TokenTypeValue()(lines),
            day=lines.charge_date,
            currency=lines.currency.coalesce(NO_CURRENCY),
            unit=ibis.ifelse(has_quantity, lines.consumed_unit, ibis.null("string")),
        ).aggregate(quantity=lines.consumed_quantity.sum(), amount=lines[COST_COLUMNS[self.basis]].sum())


def _read_tokens(
    account: Account, plan: SpendPlan, deadline: float | None, sources: Sources
) -> list[DayTokens]:
    keys = [*plan.tag_keys, *map(ExtensionKey, ("Model", "TokenType", "ServiceTier"))]
    table = engine.run(
        account,
        Kind.COST,
        plan.days.start,
        plan.days.end,
        _TokensBuild(plan.filters, plan.basis, plan.categories),
        tag_keys=list(dict.fromkeys(keys)),
        allow_rollups=False,
        manifest=sources.manifest,
        deadline=deadline,
    )
    rows = []
    for row in table.to_pylist():
        factor = tokens_per_unit(row["unit"])
        is_countable = factor is not None and row["quantity"] is not None
        tokens = exact_product(row["quantity"], factor) if is_countable and factor is not None else None
        amount = row["amount"] or Decimal(0)
        rows.append(DayTokens(row["model"], row["token_type"], row["day"], row["currency"], tokens, amount))
    return rows
