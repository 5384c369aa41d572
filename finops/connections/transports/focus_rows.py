"""FOCUS rows created by a connector, written as Parquet for the importer, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from decimal import Context, Decimal
from pathlib import Path
from typing import Final

from finops.connections.connector import SourceError
from finops.connections.transports.text_parquet import TextParquet, keep_columns, text_parquet
from finops.costs.focus.normalise import FocusFile
from finops.lib.periods import add_months

BATCH_ROWS: Final = 20_000
MAX_ROWS: Final = 20_000_000
"""Maximum number of rows of one month."""
_EXACT: Final = Context(prec=100)
_MAX_DIGITS: Final = 20
"""Maximum number of digits before the decimal point of an amount in the lake."""
_MAX_DECIMALS: Final = 60


class FocusRows:
    """Rows of one billing month. Every value is text."""

    def __init__(self, file: TextParquet, month: date, columns: Sequence[str]) -> None:
        self.filled: set[str] = set()
        """Columns with a value in any row."""
        self._file = file
        self._month_columns = {
            "BillingPeriodStart": month.isoformat(),
            "BillingPeriodEnd": add_months(month, 1).isoformat(),
        }
        self._columns: dict[str, list[str | None]] = {name: [] for name in (*columns, *self._month_columns)}

    @property
    def rows(self) -> int:
        return self._file.rows + len(self._columns["BillingPeriodStart"])

    def add(self, values: Mapping[str, str | None]) -> None:
        """Add a row; columns without a value are empty. Raises SourceError beyond MAX_ROWS, KeyError for an undeclared column."""
        for name, value in {**dict.fromkeys(self._columns), **self._month_columns, **values}.items():
            self._columns[name].append(value or None)
        if len(self._columns["BillingPeriodStart"]) == BATCH_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write the rows added since the last flush. Raises SourceError beyond MAX_ROWS."""
        self.filled |= {name for name, values in self._columns.items() if any(values)}
        self._file.write(list(self._columns.values()))
        for values in self._columns.values():
            values.clear()


@contextmanager
def focus_rows(path: Path, month: date, columns: Sequence[str]) -> Iterator[FocusRows]:
    """Context manager that writes the file; `columns` without those of the billing period. Columns without any value
    are left out of the file, so that they are no empty dimensions."""
    names = [*columns, "BillingPeriodStart", "BillingPeriodEnd"]
    with text_parquet(path, names, MAX_ROWS) as file:
        rows = FocusRows(file, month, columns)
        yield rows
        rows.flush()
    if rows.rows and len(rows.filled) < len(names):
        keep_columns(path, [name for name in names if name in rows.filled], BATCH_ROWS)


def charge_day(day: date) -> dict[str, str | None]:
    """Return the columns of a charge of one day."""
    return {"ChargePeriodStart": day.isoformat(), "ChargePeriodEnd": (day + timedelta(days=1)).isoformat()}


def exact_text(amount: Decimal, *, shift: int = 0) -> str:
    """Return the amount times 10^`shift`, with every digit and no exponent. Raises SourceError for a value that is
    not an amount of money."""
    shifted = _EXACT.scaleb(amount, shift) if amount.is_finite() else amount
    exponent = shifted.as_tuple().exponent
    if not isinstance(exponent, int) or exponent < -_MAX_DECIMALS or shifted.adjusted() >= _MAX_DIGITS:
        raise SourceError(f"The provider sent {str(amount)[:40]!r} instead of an amount or quantity.")
    return f"{shifted:f}"


def currency_code(text: str) -> str:
    """Return the code in capitals. Raises SourceError for a value without the form of an ISO 4217 code."""
    code = text.strip().upper()
    if not (len(code) == 3 and code.isascii() and code.isalpha()):
        raise SourceError(f"The provider sent {text[:40]!r} instead of a currency code such as USD.")
    return code


def file_of(path: Path, rows: int) -> list[FocusFile]:
    """Return the result of `fetch`: the file, or none for a month without rows."""
    return [FocusFile(path, path.name)] if rows else []
