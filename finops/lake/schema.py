"""The schema of facts: the columns of cost and usage segments, and how keys become column names.

Pure: no Django, no files. A segment's columns are base columns of its kind, in order, then `x:…` and `tag:…` columns (cost)
or `dim:…` columns (usage), all strings. Optional columns of cost are only in segments whose files had them.
"""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Final

import pyarrow as pa

# Real bills have 14 decimals; 18 is enough for them and every product of the clouds' price lists (ADR 0002).
MONEY: Final = pa.decimal128(38, 18)
# Ingestion accepts 12 decimals below 10^20; scale 12 leaves room to add 1.7 million such events.
QUANTITY: Final = pa.decimal128(38, 12)
MOMENT: Final = pa.timestamp("us", tz="UTC")

MONEY_LIMIT: Final = Decimal(10**15)
"""The limit of an amount's absolute value: DuckDB's sum of DECIMAL(38, 18) wraps without an error at 1.7 * 10^20."""

QUANTITY_LIMIT: Final = Decimal(10**20)
"""The limit of a quantity's absolute value: 1.7 million of the largest add up exactly, then DuckDB's sum of DECIMAL(38, 12)
ends with an error at 1.7 * 10^26."""

MAX_KEYS: Final = 1_000
"""The most tag or dimension columns of one segment; the importer keeps the most used and reports the rest."""

MAX_EXTENSIONS: Final = 200
"""The most x_ columns of one segment."""

TAG_PREFIX: Final = "tag:"
EXTENSION_PREFIX: Final = "x:"
OWN_CURRENCY: Final = "own_currency"
"""A cost column that exists in queries only, not in files: the currency that a line is billed in, converted or not."""
DIMENSION_PREFIX: Final = "dim:"


class ExtensionKey(str):
    """The name of a provider's own column without its `x_`, among other keys: never equal to a tag key."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExtensionKey) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((EXTENSION_PREFIX, str(self)))


class Kind(StrEnum):
    """The kind of facts in a segment."""

    COST = "cost"
    USAGE = "usage"


_REQUIRED_COLUMNS: Final = pa.schema(
    [
        ("charge_date", pa.date32()),
        ("billing_period", pa.date32()),
        ("source", pa.string()),
        ("provider", pa.string()),
        ("service", pa.string()),
        ("service_category", pa.string()),
        ("region", pa.string()),
        ("account_id", pa.string()),
        ("account_name", pa.string()),
        ("usage_type", pa.string()),
        ("sku_id", pa.string()),
        ("resource_id", pa.string()),
        ("resource_name", pa.string()),
        ("resource_type", pa.string()),
        ("actor", pa.string()),
        ("charge_category", pa.string()),
        ("charge_class", pa.string()),
        ("charge_frequency", pa.string()),
        ("charge_description", pa.string()),
        ("pricing_category", pa.string()),
        ("commitment_id", pa.string()),
        ("commitment_name", pa.string()),
        ("commitment_type", pa.string()),
        ("commitment_category", pa.string()),
        ("commitment_status", pa.string()),
        ("commitment_quantity", MONEY),
        ("commitment_unit", pa.string()),
        ("billed_cost", MONEY),
        ("effective_cost", MONEY),
        ("list_cost", MONEY),
        ("contracted_cost", MONEY),
        ("currency", pa.string()),
        ("consumed_quantity", MONEY),
        ("consumed_unit", pa.string()),
        ("allocated_method_id", pa.string()),
        ("allocated_method_details", pa.string()),
        ("allocated_resource_id", pa.string()),
        ("allocated_resource_name", pa.string()),
    ]
)

# Optional columns of a bill: a segment has those of its files. A missing column is the same as one that is null.
_OPTIONAL_COLUMNS: Final = pa.schema(
    [
        ("billing_period_start", MOMENT),
        ("billing_period_end", MOMENT),
        ("charge_period_start", MOMENT),
        ("charge_period_end", MOMENT),
        ("invoice_id", pa.string()),
        ("invoice_detail_id", pa.string()),
        ("invoice_issuer", pa.string()),
        ("billing_account_id", pa.string()),
        ("billing_account_name", pa.string()),
        ("billing_account_type", pa.string()),
        ("account_type", pa.string()),
        ("provider_name", pa.string()),  # ProviderName, where ServiceProviderName is the provider
        ("host_provider", pa.string()),
        ("publisher", pa.string()),
        ("service_subcategory", pa.string()),
        ("region_name", pa.string()),
        ("availability_zone", pa.string()),
        ("sku_meter", pa.string()),  # where usage_type may be another column's
        ("sku_price_id", pa.string()),
        ("sku_price_details", pa.string()),
        ("pricing_quantity", MONEY),
        ("pricing_unit", pa.string()),
        ("list_unit_price", MONEY),
        ("contracted_unit_price", MONEY),
        ("pricing_currency", pa.string()),
        ("pricing_currency_effective_cost", MONEY),
        ("pricing_currency_list_unit_price", MONEY),
        ("pricing_currency_contracted_unit_price", MONEY),
        ("capacity_reservation_id", pa.string()),
        ("capacity_reservation_status", pa.string()),
        ("commitment_program_eligibility_details", pa.string()),
        ("contract_applied", pa.string()),
        ("allocated_tags", pa.string()),
    ]
)

COST_SCHEMA: Final = pa.schema([*_REQUIRED_COLUMNS, *_OPTIONAL_COLUMNS])
OPTIONAL: Final = frozenset(_OPTIONAL_COLUMNS.names)
"""Columns of cost that a segment may omit."""

USAGE_SCHEMA: Final = pa.schema(
    [
        ("event_time", MOMENT),
        ("day", pa.date32()),  # of event_time, in UTC
        ("source", pa.string()),  # the usage source's id
        ("customer_id", pa.string()),
        ("metric", pa.string()),
        ("unit", pa.string()),
        ("quantity", QUANTITY),
        ("received_at", MOMENT),
        ("batch", pa.string()),
        ("position", pa.int32()),
    ]
)


def base_schema(kind: Kind) -> pa.Schema:
    """The columns of a segment of `kind`, besides keys; a cost segment may omit those of OPTIONAL."""
    return COST_SCHEMA if kind is Kind.COST else USAGE_SCHEMA


def day_column(kind: Kind) -> str:
    """The date column that a query's range applies to."""
    return "charge_date" if kind is Kind.COST else "day"


def key_prefix(kind: Kind) -> str:
    """The prefix of the key columns of `kind`."""
    return TAG_PREFIX if kind is Kind.COST else DIMENSION_PREFIX


def key_column(kind: Kind, key: str) -> str:
    """The column of a tag key or ExtensionKey (cost) or of a dimension key (usage)."""
    if isinstance(key, ExtensionKey):
        return extension_column(key)
    return key_prefix(kind) + _escape(key)


def tag_column(key: str) -> str:
    """The column of tag `key`: `env` is `tag:env`, `Env` is `tag:^env`, `a^b` is `tag:a^^b`."""
    return TAG_PREFIX + _escape(key)


def tag_key(column: str) -> str:
    """The tag key of a column from `tag_column`; ValueError for any other column."""
    return _unescape(_remove_prefix(TAG_PREFIX, column))


def extension_column(name: str) -> str:
    """The column of the provider's column x_`name`, escaped as `tag_column` does."""
    return EXTENSION_PREFIX + _escape(name)


def extension_name(column: str) -> str:
    """The name, without x_, of a column from `extension_column`; ValueError for any other column."""
    return _unescape(_remove_prefix(EXTENSION_PREFIX, column))


def dimension_column(key: str) -> str:
    """The column of usage dimension `key`, escaped as `tag_column` does."""
    return DIMENSION_PREFIX + _escape(key)


def dimension_key(column: str) -> str:
    """The dimension key of a column from `dimension_column`; ValueError for any other column."""
    return _unescape(_remove_prefix(DIMENSION_PREFIX, column))


def is_key_column(column: str) -> bool:
    return column.startswith((TAG_PREFIX, EXTENSION_PREFIX, DIMENSION_PREFIX))


def segment_schema(kind: Kind, keys: list[str]) -> pa.Schema:
    """The full schema of a segment of `kind` with the key columns of `keys`, in their order."""
    fields = [pa.field(key_column(kind, key), pa.string()) for key in keys]
    return pa.schema([*base_schema(kind), *fields])


def _remove_prefix(prefix: str, column: str) -> str:
    if not column.startswith(prefix):
        raise ValueError(f"Column {column!r} does not begin with {prefix!r}.")
    return column[len(prefix) :]


def _escape(key: str) -> str:
    return "".join(_escape_char(char) for char in key)


def _escape_char(char: str) -> str:
    """Escape a character so that no engine's case folding makes two different keys the same column.

    A capital is `^` and its lower-case letter. Anything else that folds to another character (ß, the Kelvin sign) and
    characters that a column name cannot hold (control characters, lone surrogates) are `^{hex}`.
    """
    if char == "^":
        return "^^"
    if _is_stable(char):
        return char
    small = char.lower()
    if small.upper() == char and small != char and _is_stable(small):
        return "^" + small
    return f"^{{{ord(char):x}}}"


def _is_stable(char: str) -> bool:
    writable = char >= " " and not "\x7f" <= char <= "\x9f" and not "\ud800" <= char <= "\udfff"
    return writable and char.casefold() == char and char.upper().lower() == char


def _unescape(text: str) -> str:
    key, at = [], 0
    while at < len(text):
        char, step = _unescape_at(text, at)
        key.append(char)
        at += step
    return "".join(key)


def _unescape_at(text: str, at: int) -> tuple[str, int]:
    if text[at] != "^":
        return text[at], 1
    mark = text[at + 1 : at + 2]
    if mark == "{":
        end = text.index("}", at)
        return chr(int(text[at + 2 : end], 16)), end - at + 1
    if mark == "":
        raise ValueError(f"Column name {text!r} ends in the middle of an escape.")
    return ("^" if mark == "^" else mark.upper()), 2
