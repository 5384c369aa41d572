"""The usage that a cost is divided by: the metric, filters of cost that also apply to usage, and filters of usage
only.

A cost filter applies to usage if its dimension is also one of usage: the customer key is the customer; a dimension
that the account maps is the mapped one; else the key of the same name (`region`, and `env` of `tag:env`). It is
applied as the usage values of these days that pass the filter, so every operator has the same effect on both sides.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.db.models.functions import Lower

from accounts.models import Account
from finops.costs.answers import AppliedFilter
from finops.costs.filters import ResolvedFilter
from finops.costs.queries.cost_sums import CostSums
from finops.lib.errors import UserError, nearest_choices, unknown_value
from finops.lib.sentences import join_with_and, truncate
from finops.unitcosts.models import UsageDimensionMapping
from finops.unitcosts.queries.customers import aliases_of, customer_key
from finops.unitcosts.unit_cost_query import UnitCostQuery
from ingestion.models import Customer, UsageMetric
from ingestion.queries import find_metric
from ingestion.queries.resolution import (
    CUSTOMER_NAMES,
    MAX_METRIC_VALUES,
    PREFIX,
    EventDimensions,
    find_customers,
    find_key,
    metric_values,
)
from ingestion.queries.usage_lake import NONE
from ingestion.usage_query import CUSTOMER

ALIKE = 0.8
"""The similarity from which a name counts as misspelt; below it, the metric is taken as not pushed yet."""

HOW_TO_PUSH = (
    "Create a usage source and its API key on the Connections page, and POST events with this metric "
    "to /api/usage/events."
)
MAX_METRIC_LENGTH = 100
SHOWN_METRICS = 5


def match_metric(metrics: list[UsageMetric], name: str) -> UsageMetric | None:
    """Return the metric of the name; None if no event has it. Raises UserError for one that looks misspelt."""
    if not name.strip() and all(each.name != name for each in metrics):
        names_text = ", ".join(each.name for each in metrics[:SHOWN_METRICS]) or "none pushed yet"
        raise UserError(
            f"Set usage_metric (the divisor) or a saved unit_metric. Usage metrics: {names_text}. "
            "getAccountContext lists all. For cost by customer alone use querySpend with group_by "
            "customer.",
            field="usage_metric",
        )
    if len(name) > MAX_METRIC_LENGTH:
        raise UserError(
            (f"usage_metric: {name[:60]!r}… has {len(name)} characters; the maximum is {MAX_METRIC_LENGTH}."),
            field="usage_metric",
        )
    try:
        return find_metric(metrics, name)
    except UserError:
        names = [each.name.casefold() for each in metrics]
        if not difflib.get_close_matches(name.casefold(), names, n=1, cutoff=ALIKE):
            return None
    raise unknown_value("usage_metric", name, [each.name for each in metrics], listed_by="getAccountContext")


def no_usage_reason(metrics: list[UsageMetric], metric: UsageMetric | None, name_given: str) -> str:
    """Return the reason why a range has no usage."""
    if metric is not None:
        return f"No usage events of {metric.name!r} on these days."
    if not metrics:
        return f"No usage pushed yet, so there is no unit cost. {HOW_TO_PUSH}"
    names = [each.name for each in metrics]
    listed_names = list(dict.fromkeys([*nearest_choices(name_given, names), *names]))[:SHOWN_METRICS]
    others_clause = " and others" if len(listed_names) < len(names) else ""
    return (
        f"No usage events of metric {name_given!r}. The account has "
        f"{join_with_and([repr(name) for name in listed_names])}{others_clause}; see getAccountContext. "
        f"{HOW_TO_PUSH}"
    )


def notes_of(metric: UsageMetric | None, name: str) -> list[str]:
    """Return notes on a metric whose name was interpreted."""
    if metric is None or metric.name == name:
        return []
    return [f"Usage metric {name!r} was interpreted as {metric.name!r}."]


SHOWN_VALUES = 20
SHOWN_LENGTH = 120


@dataclass(frozen=True)
class UsageScope:
    """`customers` and `dimensions` as `MetricQuery` takes them; `nothing`: the reason if no usage passes, else empty."""

    customers: tuple[str, ...] = ()
    dimensions: tuple[tuple[str, tuple[str, ...]], ...] = ()
    applied: tuple[AppliedFilter, ...] = ()
    unfiltered: tuple[str, ...] = ()
    nothing: str = ""
    notes: list[str] = field(default_factory=list)
    unknown_customers: tuple[str, ...] = ()

    def no_usage_reason(self) -> str:
        """Return why a range has no usage, with the filters as a possible reason."""
        if self.nothing or not self.applied:
            return self.nothing
        names = join_with_and(
            [f"{each.dimension.removeprefix(PREFIX)} {_quote_values(each.values)}" for each in self.applied]
        )
        return f"No usage events on these days have {names}."


def usage_scope(
    account: Account,
    metric: UsageMetric | None,
    query: UnitCostQuery,
    cost: CostSums,
    only: tuple[str, ...],
    deadline: float | None,
) -> UsageScope:
    """Return the usage that belongs to the cost. `only` are the ids of the requested customers.

    Raises UserError for a usage filter on a key that no event has. Cost: nothing without filters; with filters of
    cost two to four queries of PostgreSQL, and one lake query if usage has one of their dimensions.
    """
    filters = cost.facts.plan.filters
    if metric is None or not (filters or query.usage_filters):
        return UsageScope(customers=only)
    usage_keys = EventDimensions(account)
    values_by_dimension, notes, unknown = _explicit_filters(account, usage_keys, query)
    targets = _targets(account, usage_keys, filters) if filters else {}
    filters_by_target = {
        name: [item for item in filters if targets[item.dimension.name] == name] for name in targets.values()
    }
    inherited = {
        name: items for name, items in filters_by_target.items() if name and name not in values_by_dimension
    }
    spellings = _spellings(account) if CUSTOMER in inherited else {}
    have = _values(account, metric, cost, inherited, spellings, deadline)
    unfiltered = [item.dimension.name for item in filters_by_target.get("", ())]
    nothing = ""
    for name, items in inherited.items():
        if len(have[name]) > MAX_METRIC_VALUES or not set(have[name]) - {NONE}:
            unfiltered += [item.dimension.name for item in items]
            continue
        passing = [
            value for value in have[name] if all(_matches_value(item, value, spellings) for item in items)
        ]
        nothing = nothing or ("" if passing else _no_value(metric.name, name, items, have[name]))
        values_by_dimension[name] = tuple(passing)
    if unfiltered:
        notes = [*notes, _not_filtered_note(metric.name, unfiltered)]
    scope = _scope(values_by_dimension, only, list(dict.fromkeys(unfiltered)), nothing, notes)
    return replace(scope, unknown_customers=unknown)


def _values(
    account: Account,
    metric: UsageMetric,
    cost: CostSums,
    inherited: Mapping[str, Sequence[ResolvedFilter]],
    spellings: Mapping[str, Sequence[str]],
    deadline: float | None,
) -> dict[str, list[str]]:
    """Return the usage values that the filters choose from. Named customers are looked up, not listed."""
    customer_filters = inherited.get(CUSTOMER, ())
    values_by_name: dict[str, list[str]] = {}
    if customer_filters and all(item.op == "in" for item in customer_filters):
        texts = {value.lower() for item in customer_filters for value in item.matching_values}
        ids = Customer.objects.filter(account=account).annotate(folded=Lower("customer_id"))
        values_by_name[CUSTOMER] = sorted(
            {*ids.filter(folded__in=texts).values_list("customer_id", flat=True)}
            | {each for each, values in spellings.items() if texts & {value.lower() for value in values}}
        )
    listed_names = sorted(set(inherited) - set(values_by_name))
    if listed_names:
        values_by_name |= metric_values(account, metric.name, cost.days, listed_names, deadline=deadline)
    if CUSTOMER in values_by_name and not values_by_name[CUSTOMER]:
        values_by_name[CUSTOMER] = sorted(
            Customer.objects.filter(account=account).values_list("customer_id", flat=True)[:50]
        )
    return values_by_name


def _explicit_filters(
    account: Account, usage_keys: EventDimensions, query: UnitCostQuery
) -> tuple[dict[str, tuple[str, ...]], list[str], tuple[str, ...]]:
    """Return the requested usage filters, by dimension key or `customer`, with notes, and clauses on unknown customers."""
    values_by_dimension: dict[str, tuple[str, ...]] = {}
    notes: list[str] = []
    unknown: tuple[str, ...] = ()
    for item in query.usage_filters:
        if item.dimension.strip().casefold() in CUSTOMER_NAMES:
            matches = find_customers(account, item.values)
            values_by_dimension[CUSTOMER] = matches.ids
            notes += matches.warnings
            unknown += matches.clauses
            continue
        key = find_key(usage_keys, item.dimension)
        if key.value not in usage_keys.keys:
            choices = [CUSTOMER, *usage_keys.keys]
            raise unknown_value("usage_filters", item.dimension[:100], choices, listed_by="getAccountContext")
        notes += [key.warning] if key.warning else []
        values_by_dimension[key.value] = tuple(item.values)
    return values_by_dimension, notes, unknown


def _targets(
    account: Account, usage_keys: EventDimensions, filters: Iterable[ResolvedFilter]
) -> dict[str, str]:
    """Return the usage dimension of each cost dimension, "" for none."""
    key = customer_key(account).casefold()
    mapped = {
        cost.casefold(): usage
        for cost, usage in UsageDimensionMapping.objects.filter(account=account).values_list(
            "cost_dimension", "usage_dimension"
        )
    }
    return {
        item.dimension.name: _target(item.dimension.name.casefold(), key, mapped, usage_keys)
        for item in filters
    }


def _target(name: str, customer: str, mapped: Mapping[str, str], usage_keys: EventDimensions) -> str:
    if name in mapped:
        return mapped[name]
    if name in (customer, CUSTOMER):
        return CUSTOMER
    plain = name.partition(":")[2] if name.startswith(("tag:", "cost_tag:")) else name
    matches = [key for key in usage_keys.keys if key.strip().casefold() == plain]
    return matches[0] if len(matches) == 1 else ""


def _spellings(account: Account) -> dict[str, list[str]]:
    """Return values of cost that mean a customer, by customer id."""
    by_customer: dict[str, list[str]] = {}
    for value, customer_id in aliases_of(account).items():
        by_customer.setdefault(customer_id, []).append(value)
    return by_customer


def _matches_value(item: ResolvedFilter, value: str, spellings: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a filter of cost passes a usage value. A customer passes if one of its spellings does and none
    is excluded."""
    texts = [item.dimension.absent if value == NONE else value, *spellings.get(value, ())]
    matches = [item.matches_value(text) for text in texts]
    return all(matches) if item.op in ("not_in", "not_contains") else any(matches)


def _scope(
    values_by_dimension: Mapping[str, tuple[str, ...]],
    only: tuple[str, ...],
    unfiltered: list[str],
    nothing: str,
    notes: list[str],
) -> UsageScope:
    customers = only
    if CUSTOMER in values_by_dimension:
        customers = tuple(each for each in values_by_dimension[CUSTOMER] if not only or each in only)
        nothing = nothing or ("" if customers else ("The selected customers have no usage on these days."))
    dimensions = tuple((name, values) for name, values in values_by_dimension.items() if name != CUSTOMER)
    return UsageScope(
        customers=customers,
        dimensions=tuple((name, values) for name, values in dimensions if values),
        applied=tuple(_applied_filter(name, values) for name, values in values_by_dimension.items()),
        unfiltered=tuple(unfiltered),
        nothing=nothing,
        notes=notes,
    )


def _applied_filter(name: str, values: Sequence[str]) -> AppliedFilter:
    more = [f"… and {len(values) - SHOWN_VALUES} more"] if len(values) > SHOWN_VALUES else []
    shown = [truncate(value, SHOWN_LENGTH) for value in values[:SHOWN_VALUES]]
    dimension = name if name == CUSTOMER else f"{PREFIX}{name}"
    return AppliedFilter(dimension=dimension, op="in", values=[*shown, *more])


def _no_value(metric: str, name: str, items: Sequence[ResolvedFilter], have: Sequence[str]) -> str:
    filter_values = [value for item in items for value in item.values]
    close = nearest_choices(filter_values[0], have) if filter_values else []
    shown = list(dict.fromkeys([*close, *have]))[:5]
    return (
        f"Cost is filtered by {items[0].dimension.name} {_quote_values(filter_values)}, but no usage "
        f"of {metric!r} on these days has that {name}; it has "
        f"{join_with_and([truncate(value, 60) for value in shown])}. Set usage_filters to the usage "
        "of this cost."
    )


def _not_filtered_note(metric: str, names: Sequence[str]) -> str:
    text = join_with_and(list(dict.fromkeys(names)))
    return (
        f"Filtered cost is divided by all usage: usage of {metric!r} has no dimension for {text}. Set "
        "usage_filters, or map the dimension in Settings, Customer key."
    )


def _quote_values(values: Sequence[str]) -> str:
    return join_with_and([repr(truncate(value, 60)) for value in values[:5]])
