"""Counting untidiness: rows and cells of each kind, and where the first one is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.errors import display_value, printable
from finops.costs.focus.report import FINDINGS, Finding


class Findings:
    """Collects over all batches of all files. Within a batch, rows with several cells of a kind count once."""

    def __init__(self) -> None:
        self._found: dict[str, Finding] = {}
        self._rows: dict[str, Any] = {}
        self._where: Callable[[int], str] = str

    def begin_batch(self, where: Callable[[int], str]) -> None:
        """`where(index)` names a row of the batch that begins, for the first example of a kind."""
        self._where = where

    def end_batch(self) -> None:
        for kind, mask in self._rows.items():
            self._found[kind].rows += pc.sum(mask).as_py() or 0
        self._rows.clear()

    def cells(self, kind: str, column: str, mask: pa.Array, values: pa.Array | None = None) -> None:
        """The true places of `mask` are cells of this kind; `values` gives the example."""
        mask = pc.fill_null(mask, False)
        count = pc.sum(mask).as_py() or 0
        if not count:
            return
        finding = self._finding(kind)
        finding.columns[column] = finding.columns.get(column, 0) + count
        if not finding.first:
            finding.first = self._example(column, pc.index(mask, True).as_py(), values)
        self._rows[kind] = pc.or_(self._rows[kind], mask) if kind in self._rows else mask

    def note(self, kind: str, column: str, *, rows: int = 0, first: str = "") -> None:
        """A finding about a whole file or column, counted outside of batches."""
        finding = self._finding(kind)
        finding.rows += rows
        finding.columns[printable(column)] = finding.columns.get(printable(column), 0) + rows
        finding.first = finding.first or first

    def all(self) -> list[Finding]:
        """In the order of report.FINDINGS."""
        return [self._found[kind] for kind in FINDINGS if kind in self._found]

    def _finding(self, kind: str) -> Finding:
        if kind not in self._found:
            self._found[kind] = Finding(kind=kind, message=FINDINGS[kind], columns={})
        return self._found[kind]

    def _example(self, column: str, index: int, values: pa.Array | None) -> str:
        place = f"{self._where(index)}, {column}"
        return place if values is None else f"{place}: {display_value(values[index].as_py())}"


def over_limit_finding(rows: int, keys: int) -> Finding:
    """That `keys` tag keys, which `rows` rows have, become no columns."""
    kind = "tags_over_limit"
    return Finding(kind=kind, message=FINDINGS[kind], rows=rows, columns={"Tags": rows}, first=f"{keys} keys")
