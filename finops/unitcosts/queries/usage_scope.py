"""Which usage a filtered cost is divided by: filters of cost that usage can take too, and those asked for usage alone.

A cost filter applies to usage when its dimension is one of usage: the customer key is the customer; a dimension that
the account maps is the one that it is mapped to; else the key of the same name (`region`, and `env` of `tag:env`). It
is applied as the usage values of these days that the filter takes, so every operator works alike on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models.functions import Lower

from accounts.models import Account
from finops.costs.answers import FilterUsed
from finops.costs.filters import ResolvedFilter
from finops.costs.queries.cost_sums import CostRead
from finops.lib.errors import nearest, unknown_value
from finops.lib.spoken import cut, listed
from finops.unitcosts.models import UsageDimensionMapping
from finops.unitcosts.queries.customers import aliases_of, customer_key
from finops.unitcosts.unit_cost_query import UnitCostQuery
from ingestion.models import Customer, UsageMetric
from ingestion.queries.asked import CUSTOMER_NAMES, PREFIX, Known, find_customers, find_key
from ingestion.queries.usage_lake import NONE
from ingestion.queries.values import MAX_METRIC_VALUES, metric_values
from ingestion.usage_query import CUSTOMER

SHOWN_VALUES = 20
SHOWN_LENGTH = 120


@dataclass(frozen=True)
class UsageScope:
    """`customers` and `dimensions` as `UsageAsked` takes them; `nothing`: why no usage passes, if none does."""

    customers: tuple[str, ...] = ()
    dimensions: tuple[tuple[str, tuple[str, ...]], ...] = ()
    applied: tuple[FilterUsed, ...] = ()
    unfiltered: tuple[str, ...] = ()
    nothing: str = ""
    notes: list[str] = field(default_factory=list)

    def why_unused(self) -> str:
        """Why a range has no usage, where filters may be the reason."""
        if self.nothing or not self.applied:
            return self.nothing
        names = listed([f"{_plain(each.dimension)} {_quoted(each.values)}" for each in self.applied])
        return f"No usage event of these days has {names}."


def usage_scope(
    account: Account,
    metric: UsageMetric | None,
    query: UnitCostQuery,
    cost: CostRead,
    only: tuple[str, ...],
    deadline: float | None,
) -> UsageScope:
    """What of the usage belongs to the cost. `only` are the ids of the customers asked for.

    Raises UserError for a usage filter on a key that no event has. Cost: nothing without filters; with filters of cost
    two to four queries of PostgreSQL, and one lake query where usage has one of their dimensions.
    """
    filters = cost.facts.plan.filters
    if metric is None or not (filters or query.usage_filters):
        return UsageScope(customers=only)
    known = Known(account)
    wanted, notes = _given(account, known, query)
    targets = _targets(account, known, filters) if filters else {}
    taken = {
        name: [item for item in filters if targets[item.dimension.name] == name] for name in targets.values()
    }
    inherited = {name: items for name, items in taken.items() if name and name not in wanted}
    spellings = _spellings(account) if CUSTOMER in inherited else {}
    have = _values(account, metric, cost, inherited, spellings, deadline)
    unfiltered = [item.dimension.name for item in taken.get("", ())]
    nothing = ""
    for name, items in inherited.items():
        if len(have[name]) > MAX_METRIC_VALUES or not set(have[name]) - {NONE}:
            unfiltered += [item.dimension.name for item in items]
            continue
        passing = [value for value in have[name] if all(_takes(item, value, spellings) for item in items)]
        nothing = nothing or ("" if passing else _no_value(metric.name, name, items, have[name]))
        wanted[name] = tuple(passing)
    if unfiltered:
        notes = [*notes, _not_filtered(metric.name, unfiltered)]
    return _scope(wanted, only, list(dict.fromkeys(unfiltered)), nothing, notes)


def _values(
    account: Account,
    metric: UsageMetric,
    cost: CostRead,
    inherited: Mapping[str, Sequence[ResolvedFilter]],
    spellings: Mapping[str, Sequence[str]],
    deadline: float | None,
) -> dict[str, list[str]]:
    """The values of usage among which the filters choose. Customers that are named are looked up, not listed."""
    named = inherited.get(CUSTOMER, ())
    found: dict[str, list[str]] = {}
    if named and all(item.op == "in" for item in named):
        texts = {value.lower() for item in named for value in item.wanted}
        ids = Customer.objects.filter(account=account).annotate(folded=Lower("customer_id"))
        found[CUSTOMER] = sorted(
            {*ids.filter(folded__in=texts).values_list("customer_id", flat=True)}
            | {each for each, values in spellings.items() if texts & {value.lower() for value in values}}
        )
    listed_names = sorted(set(inherited) - set(found))
    if listed_names:
        found |= metric_values(account, metric.name, cost.days, listed_names, deadline=deadline)
    if CUSTOMER in found and not found[CUSTOMER]:
        found[CUSTOMER] = sorted(
            Customer.objects.filter(account=account).values_list("customer_id", flat=True)[:50]
        )
    return found


def _given(
    account: Account, known: Known, query: UnitCostQuery
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """The usage filters asked for, by dimension key or `customer`."""
    found: dict[str, tuple[str, ...]] = {}
    notes: list[str] = []
    for item in query.usage_filters:
        if item.dimension.strip().casefold() in CUSTOMER_NAMES:
            found[CUSTOMER], strange = find_customers(account, item.values)
            notes += strange
            continue
        key = find_key(known, item.dimension)
        if key.value not in known.keys:
            choices = [CUSTOMER, *known.keys]
            raise unknown_value("usage_filters", item.dimension[:100], choices, listed_by="getAccountContext")
        notes += [key.warning] if key.warning else []
        found[key.value] = tuple(item.values)
    return found, notes


def _targets(account: Account, known: Known, filters: Iterable[ResolvedFilter]) -> dict[str, str]:
    """The dimension of usage that each dimension of cost is, "" for none."""
    key = customer_key(account).casefold()
    mapped = {
        cost.casefold(): usage
        for cost, usage in UsageDimensionMapping.objects.filter(account=account).values_list(
            "cost_dimension", "usage_dimension"
        )
    }
    return {
        item.dimension.name: _target(item.dimension.name.casefold(), key, mapped, known) for item in filters
    }


def _target(name: str, customer: str, mapped: Mapping[str, str], known: Known) -> str:
    if name in mapped:
        return mapped[name]
    if name in (customer, CUSTOMER):
        return CUSTOMER
    plain = name.partition(":")[2] if name.startswith(("tag:", "cost_tag:")) else name
    alike = [key for key in known.keys if key.strip().casefold() == plain]
    return alike[0] if len(alike) == 1 else ""


def _spellings(account: Account) -> dict[str, list[str]]:
    """Values of cost that are a customer too, by its id."""
    found: dict[str, list[str]] = {}
    for value, customer_id in aliases_of(account).items():
        found.setdefault(customer_id, []).append(value)
    return found


def _takes(item: ResolvedFilter, value: str, spellings: Mapping[str, Sequence[str]]) -> bool:
    """Whether a filter of cost takes a value of usage; a customer when it takes any of its spellings, and none of
    them is one that it leaves out."""
    texts = [item.dimension.absent if value == NONE else value, *spellings.get(value, ())]
    taken = [item.takes(text) for text in texts]
    return all(taken) if item.op in ("not_in", "not_contains") else any(taken)


def _scope(
    wanted: Mapping[str, tuple[str, ...]],
    only: tuple[str, ...],
    unfiltered: list[str],
    nothing: str,
    notes: list[str],
) -> UsageScope:
    customers = only
    if CUSTOMER in wanted:
        customers = tuple(each for each in wanted[CUSTOMER] if not only or each in only)
        nothing = nothing or ("" if customers else "No usage of these days is of the customers asked for.")
    dimensions = tuple((name, values) for name, values in wanted.items() if name != CUSTOMER)
    return UsageScope(
        customers=customers,
        dimensions=tuple((name, values) for name, values in dimensions if values),
        applied=tuple(_used(name, values) for name, values in wanted.items()),
        unfiltered=tuple(unfiltered),
        nothing=nothing,
        notes=notes,
    )


def _used(name: str, values: Sequence[str]) -> FilterUsed:
    more = [f"… and {len(values) - SHOWN_VALUES} more"] if len(values) > SHOWN_VALUES else []
    shown = [cut(value, SHOWN_LENGTH) for value in values[:SHOWN_VALUES]]
    dimension = name if name == CUSTOMER else f"{PREFIX}{name}"
    return FilterUsed(dimension=dimension, op="in", values=[*shown, *more])


def _no_value(metric: str, name: str, items: Sequence[ResolvedFilter], have: Sequence[str]) -> str:
    asked = [value for item in items for value in item.asked]
    close = nearest(asked[0], have) if asked else []
    shown = list(dict.fromkeys([*close, *have]))[:5]
    return (
        f"The cost is filtered by {items[0].dimension.name} {_quoted(asked)}, and no usage of {metric!r} in these days has "
        f"such a {name}; it has {listed([cut(value, 60) for value in shown])}. Give usage_filters with the usage that belongs "
        "to this cost."
    )


def _not_filtered(metric: str, names: Sequence[str]) -> str:
    said = listed(list(dict.fromkeys(names)))
    return (
        f"Usage of {metric!r} has no dimension for {said}, so filtered cost is divided by all usage: give usage_filters, or "
        "map the dimension in Settings, Customer key."
    )


def _plain(dimension: str) -> str:
    return dimension.removeprefix(PREFIX)


def _quoted(values: Sequence[str]) -> str:
    return listed([repr(cut(value, 60)) for value in values[:5]])
