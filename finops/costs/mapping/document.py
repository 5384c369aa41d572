"""The column mapping of a source: the FOCUS column of each file column, and formats of amounts and dates. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Any, Final, NamedTuple
from zoneinfo import available_timezones

import msgspec

from finops.costs.focus import columns as spec
from finops.costs.focus.values import NumberFormat
from finops.costs.mapping.date_format import ISO, date_format_problem
from finops.lib.errors import UserError, nearest_choices
from finops.lib.sentences import join_with_and, quote

MAX_TAGS: Final = 200
MAX_FACTOR: Final = Decimal(10) ** 12
MAX_PLACES: Final = 18
"""The maximum of decimals of a factor."""
MAX_ADDENDS: Final = 10
"""The maximum of columns added to the first in one amount."""
MAX_VALUES: Final = 200
"""The maximum of values of a text column that are mapped to others."""

ColumnName = Annotated[str, msgspec.Meta(max_length=256)]
"""A column of the file, as in its header."""
ConstantText = Annotated[str, msgspec.Meta(max_length=256)]

AMOUNT_COLUMNS: Final = tuple(spec.AMOUNTS.values())
TEXT_COLUMNS: Final = tuple(
    name
    for name in dict.fromkeys(name for names in spec.TEXTS.values() for name in names)
    if name not in spec.DETAILS
)
DATE_COLUMNS: Final = (spec.CHARGE_PERIOD, "ChargePeriodEnd", spec.BILLING_PERIOD)

BILLED_COST: Final = "BilledCost"
EFFECTIVE_COST: Final = "EffectiveCost"
NEEDED_TEXTS: Final = ("BillingCurrency", "ServiceName", "ProviderName", "ChargeCategory")
COSTS: Final = frozenset(name for name in AMOUNT_COLUMNS if name.endswith("Cost"))
"""Columns to which the document's sign applies; quantities and prices are unchanged."""


class Granularity(enum.StrEnum):
    """The length of a line's charge period."""

    HOUR = "hour"
    DAY = "day"
    MONTH = "month"


class TextRule(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A text: of a column, and `value` where it is empty; or `value` in every line.

    `values` maps values of the column to those of FOCUS, ignoring case; others are unchanged.
    """

    column: ColumnName = ""
    value: ConstantText = ""
    values: dict[ConstantText, ConstantText] = {}

    @property
    def folded_values(self) -> dict[str, str]:
        """`values` in lower case without outer spaces, for look-ups."""
        return {value.strip().casefold(): focus for value, focus in self.values.items()}


class Addend(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A further column of an amount: added, or subtracted, as a discount that the file writes as positive."""

    column: ColumnName
    is_subtracted: bool = False


class AmountRule(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """An amount or a quantity: a column, plus or minus others, times a factor, 0.01 if it is in cents."""

    column: ColumnName
    factor: Decimal = Decimal(1)
    addends: tuple[Addend, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column, *(addend.column for addend in self.addends))

    @property
    def text(self) -> str:
        """`(Net + Tax) times 0.01`."""
        signs = [
            (" \N{MINUS SIGN} " if addend.is_subtracted else " + ") + addend.column for addend in self.addends
        ]
        total = self.column + "".join(signs)
        if self.factor == 1:
            return total
        return f"{f'({total})' if signs else total} times {self.factor.normalize():f}"


class DateRule(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A time: a column, and the format of its texts. Values that Parquet stores as times need no format."""

    column: ColumnName
    format: ConstantText = ISO


class TagRule(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A column with the values of one tag."""

    column: ColumnName
    key: ConstantText


class MappingDocument(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """The column mapping of a source's files. FOCUS columns that it does not name stay empty.

    By default, EffectiveCost is BilledCost, ChargePeriodEnd is one `granularity` after the start, and
    BillingPeriodStart is the calendar month of the charge.
    """

    amounts: dict[str, AmountRule] = {}
    texts: dict[str, TextRule] = {}
    dates: dict[str, DateRule] = {}
    tags: tuple[TagRule, ...] = ()
    decimal_mark: NumberFormat | None = NumberFormat.POINT
    """None: the file does not show it, and no person has chosen yet; such a document cannot be saved."""
    costs_are_negative: bool = False
    """Whether the file writes costs as negative, as accounting does: then all costs change their sign."""
    granularity: Granularity = Granularity.DAY
    time_zone: ConstantText = "UTC"
    """The zone of times without one."""
    skip_without_date: bool = False
    """Whether lines without a date, such as totals, are left out, and counted."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the file that the mapping uses, each once."""
        amounts, texts, dates = self.amounts.values(), self.texts.values(), self.dates.values()
        names = [
            *(column for rule in amounts for column in rule.columns),
            *(rule.column for rule in dates),
            *(rule.column for rule in texts),
            *(rule.column for rule in self.tags),
        ]
        return tuple(dict.fromkeys(name for name in names if name))

    @property
    def facts(self) -> dict[str, str]:
        """Return the facts for the source's page: FOCUS columns with their file columns."""
        shown = {
            **{name: rule.column for name, rule in self.dates.items()},
            **{name: rule.text for name, rule in self.amounts.items()},
            **{name: rule.column or f"“{rule.value}”" for name, rule in self.texts.items()},
        }
        tags = {"Tags": ", ".join(rule.key for rule in self.tags)} if self.tags else {}
        return shown | tags


class MappingProblem(NamedTuple):
    """An error in the rule of a FOCUS column, or in another field of the document; the text says what to do."""

    field: str
    text: str


def document_of(stored: Mapping[str, Any]) -> MappingDocument:
    """Parse a document from JSON. UserError if it is invalid."""
    try:
        return msgspec.convert(stored, MappingDocument, strict=False)
    except msgspec.ValidationError as error:
        raise UserError(f"Invalid column mapping: {error}.", field="document") from error


def as_json(document: MappingDocument) -> dict[str, Any]:
    """Return the document for a JSON column: factors as text, to the last digit."""
    stored: dict[str, Any] = msgspec.to_builtins(document, builtin_types=())
    return stored


def problems(document: MappingDocument) -> list[MappingProblem]:
    """Return all errors of the document itself, without a file."""
    return [
        *_unknown_columns(document),
        *_missing(document),
        *_of_texts(document),
        *_of_amounts(document),
        *_of_dates(document),
        *_of_tags(document),
    ]


def _unknown_columns(document: MappingDocument) -> Iterator[MappingProblem]:
    for field, rules, names in (
        ("amounts", document.amounts, AMOUNT_COLUMNS),
        ("texts", document.texts, TEXT_COLUMNS),
        ("dates", document.dates, DATE_COLUMNS),
    ):
        for name in rules:
            if name not in names:
                close = ", ".join(nearest_choices(name, names) or names[:8])
                yield MappingProblem(
                    field, (f"{quote(name)} is not a FOCUS column of {field}. Nearest: {close}.")
                )


def _missing(document: MappingDocument) -> Iterator[MappingProblem]:
    if BILLED_COST not in document.amounts:
        yield MappingProblem(BILLED_COST, "Choose the cost column.")
    if spec.CHARGE_PERIOD not in document.dates:
        yield MappingProblem(spec.CHARGE_PERIOD, "Choose the date column.")
    for name in NEEDED_TEXTS:
        rule = document.texts.get(name, TextRule())
        if not rule.column and not rule.value.strip():
            yield MappingProblem(name, "Choose a column, or enter a value for all lines.")


def _of_texts(document: MappingDocument) -> Iterator[MappingProblem]:
    for name, rule in document.texts.items():
        if not rule.column and not rule.value and name not in NEEDED_TEXTS:
            yield MappingProblem(name, "Choose a column, or enter a value for all lines.")
        if rule.value and (not rule.value.strip() or not rule.value.isprintable()):
            yield MappingProblem(name, "Enter printable text.")
        values = spec.ENUMERATIONS.get(name)
        if rule.value and values and spec.fold(rule.value) not in map(spec.fold, values):
            yield MappingProblem(name, f"FOCUS has {join_with_and(list(values))} here.")
        yield from (MappingProblem(name, text) for text in _values_problems(name, rule))
    currency = document.texts.get("BillingCurrency", TextRule()).value.strip()
    if currency and not (len(currency) == 3 and currency.isascii() and currency.isalpha()):
        yield MappingProblem("BillingCurrency", "Enter a three-letter code such as EUR.")


def _values_problems(name: str, rule: TextRule) -> Iterator[str]:
    focus_values = spec.ENUMERATIONS.get(name, ())
    if rule.values and (not rule.column or not focus_values):
        yield "Values are mapped of a column with a fixed list of values in FOCUS, such as ChargeCategory."
    elif wrong := [each for each in rule.values.values() if each not in focus_values]:
        yield f"{quote(wrong[0])} is not a value of {name}. Use {join_with_and(list(focus_values))}."
    if len(rule.values) > MAX_VALUES:
        yield f"Map at most {MAX_VALUES} values."


def _of_amounts(document: MappingDocument) -> Iterator[MappingProblem]:
    if document.decimal_mark is None:
        yield MappingProblem(
            "decimal_mark",
            "Choose the number format. It is ambiguous: 1.234 is 1 and a fraction, or a thousand.",
        )
    for name, rule in document.amounts.items():
        if not rule.column:
            yield MappingProblem(name, "Choose the amount column.")
        yield from (MappingProblem(name, text) for text in _addend_problems(rule))
        if problem := _factor_problem(rule.factor):
            yield MappingProblem(name, problem)


def _addend_problems(rule: AmountRule) -> Iterator[str]:
    if len(rule.addends) > MAX_ADDENDS:
        yield f"Add at most {MAX_ADDENDS} columns."
    if not all(addend.column for addend in rule.addends):
        yield "Choose the column to add."
    for column in dict.fromkeys(each for each in rule.columns if each and rule.columns.count(each) > 1):
        yield f"Column {quote(column)} is added twice. Choose each column once."


def _factor_problem(factor: Decimal) -> str:
    if not factor.is_finite() or not 0 < factor <= MAX_FACTOR:
        return "Enter a factor above 0, at most 10^12. For negative costs, set “Costs are”."
    exponent = factor.normalize().as_tuple().exponent
    if isinstance(exponent, int) and -exponent > MAX_PLACES:
        return f"Enter a factor of at most {MAX_PLACES} decimals."
    return ""


def _of_dates(document: MappingDocument) -> Iterator[MappingProblem]:
    for name, rule in document.dates.items():
        if not rule.column:
            yield MappingProblem(name, "Choose the date column.")
        if problem := date_format_problem(rule.format):
            yield MappingProblem(name, problem)
    if document.time_zone not in available_timezones():
        close = nearest_choices(document.time_zone, available_timezones(), limit=3)
        hint = f" Nearest: {', '.join(close)}." if close else " For example: Europe/Berlin."
        yield MappingProblem("time_zone", (f"Time zone {quote(document.time_zone)} does not exist.{hint}"))


def _of_tags(document: MappingDocument) -> Iterator[MappingProblem]:
    keys = [rule.key.strip() for rule in document.tags]
    if len(keys) > MAX_TAGS:
        yield MappingProblem("tags", f"Choose at most {MAX_TAGS} columns of tags.")
    for rule, key in zip(document.tags, keys, strict=True):
        if not rule.column or not key or not key.isprintable():
            yield MappingProblem("tags", f"Enter a tag key for column {quote(rule.column)}.")
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        yield MappingProblem("tags", f"Two columns have the tag key {quote(key)}. Use different keys.")
