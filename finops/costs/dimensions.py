"""The dimensions by which cost is grouped and filtered. Higher apps register theirs in `hooks.py`.

A plain dimension has a fixed name (`service`); a family has a prefix followed by a key (`tag:env`). Both resolve to a
`Dimension`: an Ibis expression over the table of cost lines.

    registry.register(DimensionKind(name="team", title="Team", description="…", resolve=resolve_team))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from accounts.models import Account
from finops.costs.dimension_names import EXTENSION, TITLED_EXTENSIONS, extension_title, plain_name
from finops.costs.value_names import FormerName, ValueNames
from finops.lake.schema import OWN_CURRENCY, ExtensionKey, extension_column, tag_column
from finops.lake.storage.manifest import CostKeys, Manifest, cost_tag_keys
from finops.lib.errors import UserError, nearest_choices, unknown_value
from finops.lib.name_choices import NameChoice, offer_choice
from finops.lib.registry import Registry
from finops.lib.sentences import dimension_text, quote

NONE = "(none)"
UNTAGGED = "(untagged)"
UNKNOWN = "(unknown)"

SHOWN_LENGTH = 60
MAX_NAME_LENGTH = 300

Expression = Callable[[Any], Any]
"""From the Ibis table of cost lines to a text column. Hashable, compared by value: the lake caches compilations."""


@dataclass(frozen=True)
class ColumnExpression:
    """The expression of a plain column."""

    name: str

    def __call__(self, table: Any) -> Any:
        return table[self.name]


@dataclass(frozen=True)
class Dimension:
    """A resolved dimension. `absent` is the name of lines without a value, in answers and in filters.

    `label` is the display name of a value that is an id; filters match either. `tag_keys` are the tag columns that
    the lake must read. `warnings` are sentences for the answer, such as on a tag key that no line has; `no_values` is a
    clause for its first sentence on why no line has a value, empty if some may have.
    `has_many_values` (thousands) only affects how the lake is queried. `names` are display names of a higher app.
    `stands_for` is the dimension of which this one is an alias, with the same values and shared-cost splits.
    `former`: what earlier names of renamed ids, in lower case, mean (`former_names`).
    """

    name: str
    title: str
    value: Expression
    absent: str = NONE
    label: Expression | None = None
    tag_keys: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    no_values: str = ""
    has_many_values: bool = False
    names: ValueNames | None = field(default=None, compare=False, repr=False)
    stands_for: str = ""
    former: Mapping[str, Sequence[FormerName]] = field(default_factory=dict, compare=False, repr=False)


@dataclass
class DimensionContext:
    """The inputs of resolving: the account, its product key, the names of its cost sources by id."""

    account: Account
    product_key: str = ""
    source_names: Mapping[str, str] = field(default_factory=dict)
    manifest: Manifest | None = None
    known: dict[str, Any] = field(default_factory=dict)
    """A cache for resolvers of higher apps during this question, by name."""

    @cached_property
    def tag_keys(self) -> CostKeys:
        """The tag keys of the account's cost lines, and its x_ columns. One query on first use; none if the caller
        has already read them with the manifest."""
        return cost_tag_keys(self.account, self.manifest)


@dataclass(frozen=True)
class DimensionKind:
    """An entry of the registry. A name that ends in `:` is a family; `resolve` gets its key.

    `own_keys` returns a family's keys in the account in scope, for pages to offer; tag keys are in the lake.
    """

    name: str
    title: str
    description: str
    resolve: Callable[[DimensionContext, str], Dimension]
    of_bill: bool = False
    """Whether the dimension describes the bill and its lines instead of the purchase: pages list these separately."""
    own_keys: Callable[[], list[str]] | None = None

    @property
    def is_family(self) -> bool:
        return self.name.endswith(":") or self.name == EXTENSION

    @property
    def display_name(self) -> str:
        return f"{self.name}<key>" if self.is_family else self.name


class DimensionRegistry:
    """Dimensions by name, in the order of registration."""

    def __init__(self) -> None:
        self._kinds: Registry[DimensionKind] = Registry("dimension")

    def register(self, kind: DimensionKind) -> None:
        """Add a dimension or family; raises ValueError when the name is taken."""
        self._kinds.add(kind.name, kind)

    def kinds(self) -> list[DimensionKind]:
        return list(self._kinds.values())

    def resolve(self, context: DimensionContext, name: str, *, field: str = "group_by") -> Dimension:
        """Return the dimension with this name; spellings such as `Usage Type`, `tag:env` and `cloud` are accepted.

        Raises UserError with the nearest names; `field` is the argument that has the name.
        """
        if len(name) > MAX_NAME_LENGTH:
            raise UserError(
                (f"{field}: {name[:60]!r}… has {len(name)} characters; the maximum is {MAX_NAME_LENGTH}."),
                field=field,
            )
        own = self._kinds.get(name.strip()[: len(EXTENSION)].lower())
        if own is not None and name.strip()[len(EXTENSION) :]:
            return own.resolve(context, name.strip()[len(EXTENSION) :])
        prefix, colon, key = name.partition(":")
        family = self._kinds.get(prefix.strip().lower() + colon) if colon else None
        if family is not None and key:
            return family.resolve(context, key)
        plain = self._kinds.get(plain_name(name))
        if plain is not None and not plain.is_family:
            return _with_meaning_warning(context, plain.resolve(context, ""), name)
        titled = TITLED_EXTENSIONS.get(plain_name(name))
        if titled in context.tag_keys.extensions:
            return _extension(context, titled)
        own_names = [f"{kind.name}{key}" for kind in self.kinds() if kind.own_keys for key in kind.own_keys()]
        tags = [f"tag:{key}" for key in context.tag_keys if plain_name(key) == plain_name(name)]
        choices = [*own_names, *tags, *(kind.display_name for kind in self.kinds())]
        raise unknown_value(field, name, choices, listed_by="getAccountContext", show=dimension_text)

    def resolve_in_data(
        self, context: DimensionContext, name: str, *, field: str, plans_ahead: bool = False
    ) -> Dimension:
        """Return the dimension for storage. Raises UserError as `resolve`, and if no cost line has a tag key that the
        dimension reads. With `plans_ahead`, an account without any tag keys may name one."""
        dimension = self.resolve(context, name, field=field)
        if not dimension.tag_keys:
            return dimension
        data_keys = {*context.tag_keys, *map(ExtensionKey, context.tag_keys.extensions)}
        unknown = [key for key in dimension.tag_keys if key not in data_keys]
        if not unknown or (plans_ahead and not data_keys):
            return dimension
        if isinstance(unknown[0], ExtensionKey):
            raise UserError(
                f"{field}: no cost has column x_{unknown[0][:60]}. Choose another dimension.",
                field=field,
                value=name,
            )
        close = nearest_choices(unknown[0], context.tag_keys)
        advice = f" Nearest: {', '.join(quote(f'tag:{key}') for key in close)}." if close else ""
        raise UserError(
            f"{field}: no cost has tag key {unknown[0][:60]!r}.{advice} Choose another dimension.",
            field=field,
            value=name,
        )


_SEVERAL_MEANINGS = ("project",)
"""Names that are also common tag keys."""


def _with_meaning_warning(context: DimensionContext, dimension: Dimension, name: str) -> Dimension:
    """Return the dimension with a warning that says which meaning of its name was used."""
    lowered = name.strip().lower()
    if lowered not in _SEVERAL_MEANINGS:
        return dimension
    tags = [f"tag:{key}" for key in context.tag_keys if key.strip().lower() == lowered]
    other = f" {tags[0]} is the tag." if tags else ""
    note = (
        f"{name!r} was interpreted as {dimension.name}: {dimension.title.lower()}, subscription or "
        f"project of the provider.{other}"
    )
    return replace(dimension, warnings=(*dimension.warnings, note))


registry = DimensionRegistry()


_MANY_VALUES = ("usage_type", "sku", "resource")


def _column(
    name: str,
    title: str,
    description: str,
    column: str,
    *,
    label: str = "",
    absent: str = NONE,
    of_bill: bool = False,
) -> None:
    dimension = Dimension(
        name=name,
        title=title,
        value=ColumnExpression(column),
        absent=absent,
        label=ColumnExpression(label) if label else None,
        has_many_values=name in _MANY_VALUES,
    )
    kind = DimensionKind(
        name=name,
        title=title,
        description=description,
        resolve=lambda _context, _key: dimension,
        of_bill=of_bill,
    )
    registry.register(kind)


@dataclass(frozen=True)
class _Month:
    """The month of a line's billing period: 2026-05."""

    def __call__(self, table: Any) -> Any:
        return table.billing_period.strftime("%Y-%m")


@dataclass(frozen=True)
class _SourceName:
    """The name of a line's source; a deleted source has its id."""

    names: tuple[tuple[str, str], ...]

    def __call__(self, table: Any) -> Any:
        return table.source.cases(*self.names, else_=table.source) if self.names else table.source


def _source(context: DimensionContext, _key: str) -> Dimension:
    names = tuple(sorted(context.source_names.items()))
    return Dimension(name="source", title="Source", value=_SourceName(names))


@dataclass(frozen=True)
class _Key:
    """A tag key or x_ column as the data has it, with the texts of its dimension."""

    name: str
    warning: str = ""
    no_values: str = ""

    @property
    def warnings(self) -> tuple[str, ...]:
        return (self.warning,) if self.warning else ()


def _tag(context: DimensionContext, name: str) -> Dimension:
    key = _match_tag_key(context, name)
    return Dimension(
        name=f"tag:{key.name}",
        title=f"Tag {key.name}",
        value=ColumnExpression(tag_column(key.name)),
        absent=UNTAGGED,
        tag_keys=(key.name,),
        warnings=key.warnings,
        no_values=key.no_values,
    )


def _extension(context: DimensionContext, name: str) -> Dimension:
    key = _match_extension(context.tag_keys.extensions, name)
    return Dimension(
        name=f"x_{key.name}",
        title=extension_title(key.name),
        value=ColumnExpression(extension_column(key.name)),
        tag_keys=(ExtensionKey(key.name),),
        warnings=key.warnings,
        no_values=key.no_values,
    )


def _match_extension(columns: Sequence[str], name: str) -> _Key:
    """Return the column as the data has it: exactly, else the only one that differs in case."""
    matches = [name] if name in columns else [each for each in columns if each.casefold() == name.casefold()]
    if len(matches) == 1:
        return _Key(matches[0])
    close = matches or nearest_choices(name, columns)
    advice = f" Nearest: {', '.join(quote(f'x_{each}') for each in close)}." if close else ""
    return _Key(
        name, f"No cost has column {quote(f'x_{name}')}.{advice}", f"no cost has column {_short(f'x_{name}')}"
    )


def _match_tag_key(context: DimensionContext, key: str) -> _Key:
    """Return the key as the data has it: exactly, else the only one that differs in case or outer spaces."""
    if key in context.tag_keys:
        return _Key(key)
    matches = [
        tag_key for tag_key in context.tag_keys if tag_key.strip().casefold() == key.strip().casefold()
    ]
    if len(matches) == 1:
        return _Key(matches[0], f"Tag key {key!r} was interpreted as {matches[0]!r}.")
    close = matches or nearest_choices(key, context.tag_keys)
    advice = f" Nearest: {', '.join(map(quote, close))}." if close else ""
    problem, names = f"no cost has tag key {_short(key)}", tuple(f"tag:{each}" for each in close)
    offer_choice(NameChoice("tag key", problem, f"tag:{key}", names))
    return _Key(key, f"No cost has tag key {key!r}.{advice} See getAccountContext.", problem)


def _short(name: str) -> str:
    return quote(name, SHOWN_LENGTH)


def no_values_clause(dimensions: Iterable[Dimension]) -> str:
    """Return a clause of the first sentence on dimensions that no line has: "100 % on '(untagged)'" alone would
    mislead. Empty if each may have values."""
    return "".join(f"; {each}" for each in dict.fromkeys(item.no_values for item in dimensions) if each)


def _product(context: DimensionContext, _key: str) -> Dimension:
    """The tag or cost tag that is the account's product key; without one, the service."""
    key = context.product_key or "service"
    is_cost_tag = key.lower().startswith("cost_tag:")
    name = key if key == "service" or is_cost_tag else f"tag:{key.removeprefix('tag:')}"
    dimension = registry.resolve(context, name, field="product key of the cost view")
    return Dimension(
        name="product",
        title="Product",
        value=dimension.value,
        absent=dimension.absent,
        label=dimension.label,
        tag_keys=dimension.tag_keys,
        warnings=dimension.warnings,
        no_values=dimension.no_values,
    )


_column("provider", "Provider", "Cloud, SaaS or AI vendor that sells the service.", "provider")
_column("service", "Service", "The provider's service, such as Amazon Simple Storage Service.", "service")
_column(
    "service_category", "Service category", "Compute, Storage, AI and Machine Learning …", "service_category"
)
_column(
    "service_subcategory",
    "Service subcategory",
    "Virtual Machines, Object Storage, Generative AI …",
    "service_subcategory",
)
_column("region", "Region", "The provider's region ID.", "region")
_column("availability_zone", "Availability zone", "The zone in the region.", "availability_zone")
_column(
    "account",
    "Account",
    "The provider's sub-account, subscription or project.",
    "account_id",
    label="account_name",
)
_column("usage_type", "Usage type", "Meter of the SKU, or the SKU.", "usage_type")
_column("sku", "SKU", "The provider's SKU ID.", "sku_id")
_column("resource", "Resource", "Machine, bucket, database …", "resource_id", label="resource_name")
registry.register(DimensionKind("source", "Source", "The cost source of the line.", _source))
_column("charge_category", "Charge category", "Usage, Purchase, Tax, Credit, Adjustment.", "charge_category")
_column(
    "pricing_category", "Pricing category", "Standard, Dynamic (spot), Committed, Other.", "pricing_category"
)
_column(
    "commitment", "Commitment", "The reservation or savings plan.", "commitment_id", label="commitment_name"
)
_column("currency", "Currency", "The currency of the bill, such as EUR; not converted.", OWN_CURRENCY)
registry.register(DimensionKind("product", "Product", "The account's product key, or the service.", _product))
_column(
    "actor", "Actor", "The user, role, API key or creator tag that caused the cost.", "actor", absent=UNKNOWN
)
registry.register(
    DimensionKind(
        "billing_period",
        "Billing period",
        "The billed month, such as 2026-05.",
        lambda _context, _key: Dimension(name="billing_period", title="Billing period", value=_Month()),
        of_bill=True,
    )
)
_column("invoice", "Invoice", "The invoice ID.", "invoice_id", of_bill=True)
_column(
    "billing_account",
    "Billing account",
    "The billed account: payer, billing profile.",
    "billing_account_id",
    label="billing_account_name",
    of_bill=True,
)
_column("invoice_issuer", "Invoice issuer", "The issuer of the invoice.", "invoice_issuer", of_bill=True)
_column("publisher", "Publisher", "The publisher of the product.", "publisher", of_bill=True)
_column("host_provider", "Host provider", "The cloud that hosts the service.", "host_provider", of_bill=True)
_column("charge_class", "Charge class", "Correction of an earlier period.", "charge_class", of_bill=True)
_column(
    "charge_frequency",
    "Charge frequency",
    "One-Time, Recurring, Usage-Based.",
    "charge_frequency",
    of_bill=True,
)
registry.register(DimensionKind("tag:", "Tag", "A tag of the provider, by its key: tag:env.", _tag))
registry.register(
    DimensionKind(EXTENSION, "x_ column", "A provider-specific column: x_CostCenter.", _extension)
)
