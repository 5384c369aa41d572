"""The dimension `customer`: the customer of a line's cost, by the account's customer key and its aliases; and the
names of customers, for that dimension and for the customer key itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ibis
from django.db.models import Q

from accounts.models import Account
from finops.costs.dimensions import Dimension, DimensionContext, Expression, registry
from finops.lib.errors import UserError
from finops.unitcosts.queries.customers import aliases_of, customer_key
from ingestion.models import Customer

NAME = "customer"
NO_CUSTOMER = "(no customer)"
MANY = 50
MAX_NAMED = 500
"""The maximum of customers that one text may mean; with more it is not used as a name."""

_KEY, _RESOLVING, _ALIASES = "customer key", "resolving customer", "customer aliases"

NO_CUSTOMER_KEY = (
    "No customer key is set, so all cost is in (no customer). Members set it in Settings, Customer key."
)


@dataclass(frozen=True)
class _CustomerValue:
    """The customer id for a value of the customer key: its alias, or the value itself."""

    value: Expression
    aliases: tuple[tuple[str, str], ...]

    def __call__(self, table: Any) -> Any:
        value = self.value(table)
        if len(self.aliases) <= MANY:
            return value.cases(*self.aliases, else_=value)
        texts, ids = zip(*self.aliases, strict=True)
        ids_by_alias = ibis.map(ibis.array(list(texts)), ibis.array(list(ids)))
        # A look-up in a map compares with every key. IN is hashed, so only lines with an alias need the look-up.
        return ibis.ifelse(value.isin(list(texts)), ids_by_alias.get(value, value), value)


@dataclass
class CustomerNames:
    """Names of customers. `whole`: the values are ids with aliases resolved; else values of the customer key."""

    account: Account
    aliases: Mapping[str, str]
    whole: bool
    _by_name: dict[str, Sequence[str]] = field(default_factory=dict)

    def values_with_name(self, text: str) -> Sequence[str]:
        if text not in self._by_name:
            self._by_name[text] = self._values_of(text.strip())
        return self._by_name[text]

    def _values_of(self, text: str) -> Sequence[str]:
        folded = text.casefold()
        aliased = [customer_id for value, customer_id in self.aliases.items() if value.casefold() == folded]
        if aliased:
            return aliased if self.whole else []
        rows = Customer.objects.filter(account=self.account)
        matching = rows.filter(Q(customer_id__iexact=text) | Q(name__iexact=text)).order_by("customer_id")
        ids = list(matching.values_list("customer_id", flat=True)[:MAX_NAMED])
        return [] if folded in [each.casefold() for each in ids] else self._with_spellings(ids)

    def values_containing(self, text: str) -> Sequence[str]:
        rows = Customer.objects.filter(account=self.account, name__icontains=text.strip()).order_by(
            "customer_id"
        )
        return self._with_spellings(list(rows.values_list("customer_id", flat=True)[:MAX_NAMED]))

    def _with_spellings(self, ids: Sequence[str]) -> list[str]:
        """Return the ids and, for the key itself, the other spellings in the bills."""
        other_values = (
            [] if self.whole else [value for value, each in self.aliases.items() if each in set(ids)]
        )
        return [*ids, *other_values]

    def names(self, values: Collection[str]) -> Mapping[str, str]:
        ids = {value: value if self.whole else self.aliases.get(value, value) for value in values}
        rows = Customer.objects.filter(account=self.account, customer_id__in=set(ids.values())).exclude(
            name=""
        )
        names_by_id = {each: name for each, name in rows.values_list("customer_id", "name") if name.strip()}
        return {value: names_by_id[each] for value, each in ids.items() if each in names_by_id}


def resolve_customer(context: DimensionContext, _key: str) -> Dimension:
    """Resolve the dimension `customer`. Two PostgreSQL queries per question, also if the question uses the dimension
    several times.

    Raises UserError for a customer key whose rules use the dimension `customer`.
    """
    if _RESOLVING in context.known:
        raise UserError(
            "Circular reference: the customer key is a cost tag whose rules use customer. Choose "
            "another customer key, or remove customer from the rules."
        )
    key = _key_of(context)
    if not key:
        return Dimension(
            name=NAME, title="Customer", value=_NoCustomer(), absent=NO_CUSTOMER, warnings=(NO_CUSTOMER_KEY,)
        )
    context.known[_RESOLVING] = True
    try:
        resolved = registry.resolve(context, key, field="customer key")
    finally:
        del context.known[_RESOLVING]
    aliases = _aliases(context)
    return Dimension(
        name=NAME,
        title="Customer",
        value=_CustomerValue(resolved.value, tuple(sorted(aliases.items()))) if aliases else resolved.value,
        # In the form of the customer key, because splits name their source in that form.
        absent=resolved.absent,
        label=resolved.label,
        tag_keys=resolved.tag_keys,
        warnings=resolved.warnings,
        names=CustomerNames(context.account, aliases, whole=True),
        stands_for=resolved.name,
    )


@dataclass(frozen=True)
class _NoCustomer:
    def __call__(self, _table: Any) -> Any:
        return ibis.null("string")


def _key_of(context: DimensionContext) -> str:
    if _KEY not in context.known:
        context.known[_KEY] = customer_key(context.account)
    dimension: str = context.known[_KEY]
    return dimension


def _aliases(context: DimensionContext) -> dict[str, str]:
    if _ALIASES not in context.known:
        context.known[_ALIASES] = aliases_of(context.account)
    aliases: dict[str, str] = context.known[_ALIASES]
    return aliases


def customer_key_names(context: DimensionContext, dimension: Dimension) -> CustomerNames | None:
    """Return names of values of the customer key; None for another dimension."""
    if dimension.name.casefold() != _key_of(context).casefold():
        return None
    return CustomerNames(context.account, _aliases(context), whole=False)
