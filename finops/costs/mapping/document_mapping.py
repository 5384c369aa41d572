"""Read files as FOCUS by their source's column mapping: whole columns at once, amounts as exact decimals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus import amounts
from finops.costs.focus import columns as spec
from finops.costs.focus.convert import DICTIONARY
from finops.costs.focus.errors import CAST_ERRORS, BadCell, UnknownFormat, display_value
from finops.costs.focus.formats import Formats
from finops.costs.focus.values import NumberFormat
from finops.costs.mapping.date_format import parse_local
from finops.costs.mapping.document import (
    BILLED_COST,
    COSTS,
    EFFECTIVE_COST,
    AmountRule,
    DateRule,
    Granularity,
    MappingDocument,
    TextRule,
)
from finops.costs.native.native_batch import NativeBatch, first_of, recode
from finops.costs.native.native_format import NativeFormat, NativeMapping
from finops.lake.schema import MONEY, MONEY_LIMIT
from finops.lib.periods import add_months
from finops.lib.sentences import join_with_and

TITLE: Final = "Column mapping"
CHARGE_CATEGORY: Final = "ChargeCategory"
_CATEGORIES: Final = frozenset(map(spec.fold, spec.ENUMERATIONS[CHARGE_CATEGORY]))
_SHOWN_CATEGORIES: Final = 12
MOMENT: Final = pa.timestamp("us", tz="UTC")
_UTC: Final = ZoneInfo("UTC")
_WIDE: Final = pa.decimal256(37, 18)
_SCALE: Final = 18
_LENGTHS: Final = {Granularity.HOUR: timedelta(hours=1), Granularity.DAY: timedelta(days=1)}
_START, _END, _PERIOD = spec.CHARGE_PERIOD, "ChargePeriodEnd", spec.BILLING_PERIOD


class FixedFormats(Formats):
    """The number format of a file, given by its column mapping."""

    def __init__(self, numbers: NumberFormat | None) -> None:
        self.numbers, self.numbers_because = numbers, "set in the column mapping"
        self.dates, self.dates_because = None, ""


class DocumentFormat(NativeFormat):
    """A format of files with any columns, by a document. It belongs to one source and is not in `formats/`."""

    title = TITLE
    cell_error = UnknownFormat

    def __init__(self, document: MappingDocument) -> None:
        self.document = document

    def recognises(self, names: Sequence[str]) -> bool:
        return not missing_columns(self.document, names)

    def mapping(self, names: Sequence[str], file: str) -> DocumentMapping:
        """Return the mapping. Raises UnknownFormat for a file that lacks a column of the mapping, or has it twice."""
        check_columns(self.document, names, file)
        return DocumentMapping(self.document, names)


def missing_columns(document: MappingDocument, names: Sequence[str]) -> list[str]:
    """Return the columns of the mapping that are missing in these."""
    return [column for column in document.columns if _place(column, names) is None]


def check_columns(document: MappingDocument, names: Sequence[str], file: str) -> None:
    """Raises UnknownFormat that names columns of the mapping that the file lacks or has more than once."""
    missing = missing_columns(document, names)
    if missing:
        shown = join_with_and([display_value(column) for column in missing])
        have = ", ".join(display_value(name) for name in names[:8]) + (", …" if len(names) > 8 else "")
        raise UnknownFormat(
            f"{file} has no column {shown}, required by the source's column mapping. Its columns are "
            f"{have}. Export the file with the previous columns, or change the mapping on the "
            "source's page.",
            field=missing[0],
            value=missing,
        )
    for column in document.columns:
        name = _place(column, names)
        if name is not None and list(names).count(name) > 1:
            raise UnknownFormat(
                f"{file} has the column {display_value(column)} more than once. Rename all but one.",
                field=column,
            )


def _place(column: str, names: Sequence[str]) -> str | None:
    """Return the index of the file's column with that name: exact, trimmed, else the only one that folds to it."""
    if column in names:
        return column
    trimmed = [name for name in names if name.strip() == column.strip()]
    matches = trimmed or [name for name in names if spec.fold(name) == spec.fold(column) != ""]
    return matches[0] if len(set(matches)) == 1 else None


class DocumentMapping(NativeMapping):
    """The mapping of one file by its source's document."""

    title = TITLE

    def __init__(self, document: MappingDocument, names: Sequence[str]) -> None:
        self._document = document
        self._name = {column: _place(column, names) or column for column in document.columns}
        self._zone = ZoneInfo(document.time_zone)
        self._formats = FixedFormats(document.decimal_mark)
        self._amounts = _amount_rules(document)
        self._texts = {name: rule for name, rule in document.texts.items() if rule.column or rule.value}
        start = document.dates[_START]
        dates = {_START: start, _END: start, _PERIOD: start, **document.dates}
        self._dates: Mapping[str, DateRule] = dates
        tags = tuple(dict.fromkeys(self._name[rule.column] for rule in document.tags))
        self.columns = {
            **{name: (self._name[rule.column],) for name, rule in dates.items()},
            **{name: self._columns_of(rule) for name, rule in self._amounts.items()},
            **{name: (self._name[rule.column],) if rule.column else () for name, rule in self._texts.items()},
            **({spec.TAGS: tags} if tags else {}),
        }
        dense = {name for column in spec.DENSE for name in spec.TEXTS[column]}
        plain = {name for name in self.columns if name in self._amounts or name in dense}
        few = {each for name in self.columns if name not in plain for each in self.columns[name]}
        self.plain = frozenset({each for name in plain for each in self.columns[name]} - few)
        self.needed = (self._name[document.dates[_START].column],) if document.skip_without_date else ()
        self._skipped = 0
        self._unknown: Counter[str] = Counter()
        self._moments: dict[tuple[str, str], datetime] = {}

    def _columns_of(self, rule: AmountRule) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._name[column] for column in rule.columns))

    def begin(self) -> None:
        self._skipped, self._unknown, self._moments = 0, Counter(), {}

    def prepare(self, batch: NativeBatch) -> NativeBatch:
        if not self._document.skip_without_date:
            return batch
        has_date = pc.is_valid(_without_blanks(batch.column(self.needed[0]), self.needed[0]))
        if pc.all(has_date).as_py():
            return batch
        places = pc.indices_nonzero(has_date).cast(pa.int64())
        self._skipped += batch.size - len(places)
        return batch.take(places)

    def column(self, name: str, batch: NativeBatch) -> pa.Array:
        if name in self._amounts:
            return self._amount(name, batch)
        if name in self._dates:
            return self._moment(name, batch)
        if name == spec.TAGS:
            keys = [rule.key.strip() for rule in self._document.tags]
            values = [batch.text(self._name[rule.column]) for rule in self._document.tags]
            return pa.StructArray.from_arrays(values, keys)
        text = self._text(self._texts[name], batch)
        if name == CHARGE_CATEGORY:
            self._unknown.update(unknown_categories(text))
        return text

    def notes(self) -> Sequence[str]:
        document = self._document
        notes = [
            f"{name} is {rule.text}."
            for name, rule in document.amounts.items()
            if rule.factor != 1 or rule.addends
        ]
        if document.costs_are_negative:
            notes.append("Costs have the opposite sign in the file.")
        if EFFECTIVE_COST not in document.amounts:
            notes.append("EffectiveCost is BilledCost.")
        if self._unknown:
            shown = [
                f"{display_value(value)} ({count:,} lines)"
                for value, count in self._unknown.most_common(_SHOWN_CATEGORIES)
            ]
            notes.append(f"Charge categories that FOCUS does not have, kept as they are: {', '.join(shown)}.")
        if self._skipped:
            notes.append(f"Lines without a date, left out: {self._skipped:,}.")
        return notes

    def _amount(self, name: str, batch: NativeBatch) -> pa.Array:
        rule = self._amounts[name]
        values = self._numbers(name, rule.column, batch)
        for addend in rule.addends:
            native = self._name[addend.column]
            values = add(values, self._numbers(name, addend.column, batch), native, addend.is_subtracted)
        is_negative = self._document.costs_are_negative and name in COSTS
        factor = -rule.factor if is_negative else rule.factor
        return values if factor == 1 else multiply(values, factor, self._name[rule.column])

    def _numbers(self, name: str, column: str, batch: NativeBatch) -> pa.Array:
        native = self._name[column]
        of_column = amounts.quantity if name in spec.QUANTITIES else amounts.amount
        return of_column(batch.column(native), native, batch.findings, self._formats)

    def _text(self, rule: TextRule, batch: NativeBatch) -> pa.Array:
        constant = rule.value.strip()
        if not rule.column:
            return batch.constant(constant)
        text = batch.text(self._name[rule.column])
        if rule.values:
            values = rule.folded_values
            text = recode(text, lambda value: values.get(value.strip().casefold(), value))
        return first_of(text, batch.constant(constant)) if constant else text

    def _moment(self, name: str, batch: NativeBatch) -> pa.Array:
        rule = self._dates[name]
        native = self._name[rule.column]
        encoded = _without_blanks(batch.column(native), native)
        is_own = name in self._document.dates
        moments = [
            None if value is None else self._finish(name, self._local(value, place, encoded, rule), is_own)
            for place, value in enumerate(encoded.dictionary.to_pylist())
        ]
        return pa.array(moments, MOMENT).take(encoded.indices)

    def _local(
        self, value: datetime | str, place: int, encoded: pa.DictionaryArray, rule: DateRule
    ) -> datetime | None:
        """Parse a local time, cached: a file repeats the same hours. None for a dictionary value without rows."""
        key = str(value), rule.format
        if key not in self._moments:
            try:
                self._moments[key] = parse_local(value, rule.format, self._zone)
            except ValueError as error:
                index = pc.index(encoded.indices, pa.scalar(place, encoded.indices.type)).as_py()
                if index < 0:
                    return None
                raise BadCell(self._name[rule.column], index, str(value), str(error)) from error
        return self._moments[key]

    def _finish(self, name: str, local: datetime | None, is_own: bool) -> datetime | None:
        """Return the FOCUS moment of a local time: of an hour itself, of a day or month its first, as written."""
        if local is None:
            return None
        if name == _PERIOD:
            return _first_of_month(local).replace(tzinfo=_UTC)
        granularity = self._document.granularity
        zone = self._zone if granularity is Granularity.HOUR else _UTC
        if name == _END and is_own:
            return local.replace(tzinfo=zone).astimezone(_UTC)
        if granularity is Granularity.MONTH:
            local = _first_of_month(local)
        elif granularity is Granularity.DAY:
            local = local.replace(hour=0, minute=0, second=0, microsecond=0)
        start = local.replace(tzinfo=zone).astimezone(_UTC)
        if name == _START:
            return start
        if granularity is Granularity.MONTH:
            return datetime.combine(add_months(start.date(), 1), start.time(), tzinfo=_UTC)
        return start + _LENGTHS[granularity]


def _amount_rules(document: MappingDocument) -> dict[str, AmountRule]:
    return {EFFECTIVE_COST: document.amounts[BILLED_COST], **document.amounts}


def _first_of_month(local: datetime) -> datetime:
    return local.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def _without_blanks(values: pa.Array, column: str) -> pa.DictionaryArray:
    """Return times unchanged, everything else as text; encoded, blank texts null. BadCell for nested types."""
    if pa.types.is_dictionary(values.type):
        values = values if values.type == DICTIONARY else values.dictionary_decode()
    if pa.types.is_timestamp(values.type):
        return values.cast(pa.timestamp("us", values.type.tz), safe=False).dictionary_encode()
    if pa.types.is_date(values.type):
        return values.cast(pa.date32()).dictionary_encode()
    if values.type != DICTIONARY:
        try:
            values = values.cast(pa.string()).dictionary_encode()
        except CAST_ERRORS as error:
            raise BadCell(column, -1, values.type, "does not hold dates") from error
    blank = pc.equal(pc.utf8_trim_whitespace(values.dictionary), "")
    if not pc.any(blank).as_py():
        return values
    size = len(values.dictionary)
    indices = pc.if_else(blank, pa.scalar(None, pa.int32()), pa.array(range(size), pa.int32()))
    return pa.DictionaryArray.from_arrays(indices.take(values.indices), values.dictionary)


def unknown_categories(values: pa.Array) -> Counter[str]:
    """Return lines by charge category, for categories that FOCUS does not have."""
    counts: Counter[str] = Counter()
    for each in pc.value_counts(values).to_pylist():
        if each["values"] is not None and spec.fold(each["values"]) not in _CATEGORIES:
            counts[each["values"]] += each["counts"]
    return counts


def add(values: pa.Array, addends: pa.Array, column: str, is_subtracted: bool) -> pa.Array:
    """Return the exact sum or difference of two decimal columns; null counts as 0 with a number. BadCell from 10^15."""
    values, addends = values.cast(_WIDE), addends.cast(_WIDE)
    signed = pc.negate(addends) if is_subtracted else addends
    total = pc.coalesce(pc.add(values, signed), values, signed)
    return _check_limit(total, addends, column, "makes the sum too large")


def multiply(values: pa.Array, factor: Decimal, column: str) -> pa.Array:
    """Return exact decimals times a factor, to 18 places, half to even. BadCell from 10^15 on."""
    wide = pc.round(
        pc.multiply(values.cast(_WIDE), pa.scalar(factor, _WIDE)), ndigits=_SCALE, round_mode="half_to_even"
    )
    return _check_limit(wide, values, column, f"times {factor} is too large")


def _check_limit(wide: pa.Array, values: pa.Array, column: str, problem: str) -> pa.Array:
    """Check the lake's limit. BadCell names the first of `values` whose result is 10^15 or more."""
    outside = pc.greater_equal(pc.abs(wide), pa.scalar(MONEY_LIMIT).cast(wide.type))
    index = pc.index(pc.fill_null(outside, False), True).as_py()
    if index >= 0:
        raise BadCell(column, index, values[index].as_py(), f"{problem}: amounts stay below 10^15")
    return wide.cast(MONEY)
