"""A batch of a native file: its columns by name, and operations on whole columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus import amounts
from finops.costs.focus.convert import DICTIONARY
from finops.costs.focus.errors import CAST_ERRORS, BadCell
from finops.costs.focus.report import Findings
from finops.costs.native.key_values import entry_of
from finops.lake.schema import MONEY


class NativeBatch:
    """Lines of a native file. `take` returns a batch of some of them, with the columns and amounts of the first."""

    def __init__(
        self,
        columns: Mapping[str, pa.Array],
        size: int,
        findings: Findings,
        *,
        parent: NativeBatch | None = None,
        places: pa.Array | None = None,
    ) -> None:
        self.size = size
        self.findings = findings
        self._columns = dict(columns)
        self._parent = parent
        self._places = places
        self._amounts: dict[str, pa.Array] = {}
        self._texts: dict[str, pa.DictionaryArray] = {}
        self._made: dict[str, pa.Array] = {}

    @property
    def origin(self) -> pa.Array | None:
        """For each line its index in the file's batch; None: unchanged."""
        if self._parent is None or self._places is None:
            return None
        above = self._parent.origin
        return self._places if above is None else above.take(self._places)

    def take(self, places: pa.Array) -> NativeBatch:
        """Return the lines at these indexes, in this order; an index may be repeated."""
        return NativeBatch({}, len(places), self.findings, parent=self, places=places)

    def has(self, name: str) -> bool:
        """Return whether this pass over the file reads the column."""
        return name in self._columns or (self._parent is not None and self._parent.has(name))

    def replace(self, name: str, values: pa.Array) -> None:
        """Replace the texts of a column in these lines; amounts stay those of the file."""
        self._columns[name] = values
        self._texts.pop(name, None)

    def column(self, name: str) -> pa.Array:
        """Return the column of the file. KeyError for a column that was not requested."""
        if name not in self._columns:
            if self._parent is None:
                raise KeyError(name)
            self._columns[name] = _take(self._parent.column(name), self._places)
        return self._columns[name]

    def text(self, name: str) -> pa.DictionaryArray:
        """Return a column as texts, dictionary-encoded. BadCell for nested types."""
        if name not in self._texts:
            self._texts[name] = encode(self.column(name), name)
        return self._texts[name]

    def entry(self, name: str, key: str) -> pa.DictionaryArray:
        """Return the value of `key` in a column of maps, structs or JSON objects."""
        return self.compute_once(
            f"{name}/{key}", lambda file: encode(entry_of(file.column(name), key, name), name)
        )

    def compute_once(self, name: str, make: Callable[[NativeBatch], pa.Array]) -> pa.Array:
        """Return the result of `make` on the file's batch, for these lines, cached as `name`.

        For results of nested columns: taking lines of a map costs as much as reading it.
        """
        if self._parent is not None:
            return self._parent.compute_once(name, make).take(self._places)
        if name not in self._made:
            self._made[name] = make(self)
        return self._made[name]

    def amount(self, name: str) -> pa.Array:
        """Return a column of numbers with a decimal point as exact decimals; empty is null. BadCell if invalid."""
        if name not in self._amounts:
            if self._parent is not None:
                self._amounts[name] = _take(self._parent.amount(name), self._places)
            else:
                self._amounts[name] = amounts.amount(self.column(name), name, self.findings, None)
        return self._amounts[name]

    def is_one_of(self, name: str, values: Collection[str]) -> pa.Array:
        """Return a mask of lines with one of these texts in the column; never null."""
        encoded = self.text(name)
        among = pc.is_in(encoded.dictionary, value_set=pa.array(list(values), pa.string()))
        places = pc.indices_nonzero(among)
        if not len(places):
            return pa.repeat(pa.scalar(False), self.size)
        if len(places) > 1:
            return pc.fill_null(among.take(encoded.indices), False)
        # Takes a tenth of the time of a look-up per line.
        is_value = pc.equal(encoded.indices, places[0].cast(encoded.indices.type))
        return pc.fill_null(is_value, False)

    def recode(self, name: str, code: Callable[[str], str | None]) -> pa.DictionaryArray:
        """Return the column with each different text replaced by `code` of it."""
        return recode(self.text(name), code)

    def constant(self, value: str | None) -> pa.DictionaryArray:
        """Return the same text for every line."""
        if value is None:
            return pa.DictionaryArray.from_arrays(pa.nulls(self.size, pa.int32()), pa.array([], pa.string()))
        indices = pa.repeat(pa.scalar(0, pa.int32()), self.size)
        return pa.DictionaryArray.from_arrays(indices, pa.array([value], pa.string()))

    def zeros(self) -> pa.Array:
        """Return the amount 0 for every line."""
        return pa.repeat(pa.scalar(0, MONEY), self.size)


def _take(values: pa.Array, places: pa.Array) -> pa.Array:
    """Take lines; many columns of a report are empty and need no look-up."""
    if values.null_count == len(values):
        return pa.nulls(len(places), values.type)
    return values.take(places)


def encode(values: pa.Array, name: str) -> pa.DictionaryArray:
    """Return dictionary-encoded texts; empty texts are null. BadCell for a type that is not text."""
    if values.type != DICTIONARY:
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        try:
            values = values.cast(pa.string()).dictionary_encode()
        except CAST_ERRORS as error:
            raise BadCell(name, -1, values.type, "does not hold text") from error
    return (
        recode(values, lambda text: text or None)
        if pc.any(pc.equal(values.dictionary, "")).as_py()
        else values
    )


def recode(encoded: pa.DictionaryArray, code: Callable[[str], str | None]) -> pa.DictionaryArray:
    """Replace each different text by `code` of it. Cost: a call for each text of the dictionary."""
    codes = [None if text is None else code(text) for text in encoded.dictionary.to_pylist()]
    return _with_dictionary(encoded.indices, pa.array(codes, pa.string()))


def cut(encoded: pa.DictionaryArray, pattern: str) -> pa.DictionaryArray:
    """Remove what the pattern (RE2) matches from each text; null if nothing remains. A fifth of `recode`'s cost."""
    texts = pc.replace_substring_regex(encoded.dictionary, pattern, "")
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    return _with_dictionary(encoded.indices, texts)


def first_of(*columns: pa.DictionaryArray) -> pa.DictionaryArray:
    """Return the first of these columns that has a value, line by line."""
    if len(columns) == 1 or not columns[0].null_count:
        return columns[0]
    parts, indices, before = [], [], 0
    for column in columns:
        parts.append(column.dictionary)
        indices.append(pc.add(column.indices.cast(pa.int32()), pa.scalar(before, pa.int32())))
        before += len(column.dictionary)
    return _with_dictionary(pc.coalesce(*indices), pa.concat_arrays(parts))


def choose(mask: pa.Array, yes: pa.Array | pa.Scalar, no: pa.Array) -> pa.Array:
    """Return `yes` where the mask is true, else `no`; texts dictionary-encoded."""
    if not isinstance(no, pa.DictionaryArray):
        return pc.if_else(mask, yes, no)
    own = no.indices.cast(pa.int32())
    if isinstance(yes, pa.DictionaryArray):
        yes_indices = pc.add(yes.indices.cast(pa.int32()), pa.scalar(len(no.dictionary), pa.int32()))
        return _with_dictionary(
            pc.if_else(mask, yes_indices, own), pa.concat_arrays([no.dictionary, yes.dictionary])
        )
    if not yes.is_valid:
        return pa.DictionaryArray.from_arrays(
            pc.if_else(mask, pa.scalar(None, pa.int32()), own), no.dictionary
        )
    other = pa.scalar(len(no.dictionary), pa.int32())
    dictionary = pa.concat_arrays([no.dictionary, pa.array([yes.as_py()], pa.string())])
    return _with_dictionary(pc.if_else(mask, other, own), dictionary)


def _with_dictionary(indices: pa.Array, values: pa.Array) -> pa.DictionaryArray:
    """Dictionary-encode values that may have duplicates, which Parquet's writer refuses in a dictionary."""
    distinct = values.dictionary_encode()
    return pa.DictionaryArray.from_arrays(distinct.indices.take(indices), distinct.dictionary)
