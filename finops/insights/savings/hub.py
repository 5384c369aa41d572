"""AWS Cost Optimization Hub: reads an export of its table COST_OPTIMIZATION_RECOMMENDATIONS (AWS Data Exports; CSV,
gzip-compressed CSV or Parquet), and makes its recommendations candidates beside those of our own rules.

AWS sees utilization, bills do not: on one resource its recommendation goes before ours. Of several for one resource the
largest counts, and so does the largest commitment to compute of each AWS account: AWS lists alternatives.
"""

from __future__ import annotations

import csv
import gzip
import io
import shutil
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from finops.costs.focus.parquetfile import ParquetFile
from finops.insights.models import ImportedSaving
from finops.insights.savings.candidates import HUB, LineKey, Piece, SavingCandidate
from finops.lib.answers import group_by
from finops.lib.currencies import currency_code
from finops.lib.errors import UserError

MAX_ROWS: Final = 100_000
MAX_UNPACKED: Final = 200_000_000
RATIO: Final = 100
RATIO_FROM: Final = 250_000
"""From so many unpacked bytes on, a file may be so many times its size."""
ROW_BYTES: Final = 16
ROWS_FROM: Final = 500
"""From so many rows on, a file has so many bytes a row, packed too: an id is random and stands once. A row takes 40 µs."""
MAX_PROBLEMS: Final = 20
MAX_FIELD: Final = 1_000_000
"""Details of a resource are JSON documents in one field."""
LONGEST: Final = 2_000
"""Characters of a text that is kept."""
_SLICE: Final = 256
"""Rows of Parquet that are made values of Python at once."""

NEEDED: Final = ("recommendation_id", "action_type", "estimated_monthly_savings_after_discount")
_AGAIN: Final = (
    "Export the table 'Cost optimization recommendations' in AWS Billing, Data Exports, and upload the file as it is "
    "(CSV, CSV.gz or Parquet)."
)
_WIDE: Final = Decimal(10) ** 20


class HubRow(msgspec.Struct, frozen=True, kw_only=True):
    """A recommendation. Amounts: a month of 730 hours, after discounts where AWS knows them."""

    recommendation_id: str
    action: str
    resource_arn: str
    resource_type: str
    current: str
    recommended: str
    aws_account: str
    aws_account_name: str
    region: str
    found_by: str
    effort: str
    restart_needed: bool | None
    rollback_possible: bool | None
    lookback_days: int | None
    monthly_cost: Decimal | None
    monthly_saving: Decimal
    currency: str
    refreshed_at: datetime | None


@dataclass
class HubFile:
    """What a file holds. `problems` name rows that are left out, the first of them by number (the header is 1)."""

    rows: list[HubRow] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    left_out: int = 0


def read_file(file: BinaryIO) -> HubFile:
    """All recommendations of the file; one id that stands twice counts as its last. Raises UserError for what is no such
    export, or too large. Memory: the rows, at most 100,000."""
    hub_file = HubFile()
    by_id: dict[str, HubRow] = {}
    size = file.seek(0, io.SEEK_END)
    for number, raw in enumerate(_limit_records(_records(file, size), size), start=2):
        try:
            row = hub_row(raw)
        except (UserError, ValueError) as problem:
            hub_file.left_out += 1
            if len(hub_file.problems) < MAX_PROBLEMS:
                hub_file.problems.append(f"Row {number}: {problem}")
            continue
        by_id[row.recommendation_id] = row
    hub_file.rows = list(by_id.values())
    return hub_file


def _limit_records(records: Iterable[Mapping[str, Any]], size: int) -> Iterator[Mapping[str, Any]]:
    for count, record in enumerate(records, start=1):
        if count > MAX_ROWS:
            raise UserError(
                f"The file has more than {MAX_ROWS:,} recommendations. Export fewer regions or accounts at a time.",
                field="file",
            )
        if count > ROWS_FROM + size // ROW_BYTES:
            raise UserError(
                f"The file has more rows than recommendations fit in its {size:,} bytes. {_AGAIN}",
                field="file",
            )
        yield record


def _records(file: BinaryIO, size: int) -> Iterator[Mapping[str, Any]]:
    file.seek(0)
    head = file.read(4)
    file.seek(0)
    most = min(MAX_UNPACKED, max(RATIO_FROM, RATIO * size))
    try:
        if head == b"PAR1":
            yield from _parquet(file)
        elif head[:2] == b"\x1f\x8b":
            yield from _csv(_BoundedReader(gzip.GzipFile(fileobj=file), most))
        else:
            yield from _csv(_BoundedReader(file, most))
    except (pa.ArrowException, csv.Error, UnicodeDecodeError, zlib.error, EOFError, OSError) as error:
        raise UserError(f"The file cannot be read to its end: {error}. {_AGAIN}", field="file") from error


def _parquet(file: BinaryIO) -> Iterator[Mapping[str, Any]]:
    with NamedTemporaryFile() as copy:
        shutil.copyfileobj(file, copy)
        copy.flush()
        parquet = ParquetFile(Path(copy.name), "The file")
        places = {name.strip().lower(): place for place, name in enumerate(parquet.names)}
        _check_columns(places)
        names = [name for name in places if name in _COLUMNS]
        for batch in parquet.batches([places[name] for name in names], ()):
            columns = [_truncate_column(batch[places[name]]) for name in names]
            for start in range(0, len(columns[0]), _SLICE):
                slices = [column.slice(start, _SLICE).to_pylist() for column in columns]
                for values in zip(*slices, strict=True):
                    yield dict(zip(names, values, strict=True))


def _truncate_column(column: pa.Array) -> pa.Array:
    """Texts in no more characters than are kept, before each row has its own."""
    if not pa.types.is_dictionary(column.type):
        return column
    return pa.DictionaryArray.from_arrays(
        column.indices, pc.utf8_slice_codeunits(column.dictionary, 0, LONGEST)
    )


class _BoundedReader(io.RawIOBase):
    """Ends in an error where a small file unpacks to too much."""

    def __init__(self, file: Any, most: int) -> None:
        self._file, self._most, self._left = file, most, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Raises UserError once the file has unpacked to more bytes than it may."""
        read: bytes = self._file.read(len(buffer))
        self._left -= len(read)
        if self._left < 0:
            raise UserError(f"The file unpacks to more than {self._most:,} bytes. {_AGAIN}", field="file")
        buffer[: len(read)] = read
        return len(read)


def _csv(file: _BoundedReader) -> Iterator[Mapping[str, Any]]:
    text = io.TextIOWrapper(io.BufferedReader(file, 1 << 16), encoding="utf-8-sig", newline="")
    csv.field_size_limit(MAX_FIELD)
    reader = csv.reader(text)
    names = [name.strip().lower() for name in next(reader, [])]
    _check_columns(names)
    for values in reader:
        if values:
            yield dict(zip(names, values, strict=False))


def _check_columns(names: Iterable[str]) -> None:
    missing = [name for name in NEEDED if name not in set(names)]
    if missing:
        raise UserError(
            f"The file has no column {missing[0]}, so it is no export of AWS Cost Optimization Hub. {_AGAIN}",
            field="file",
        )


_COLUMNS: Final = frozenset(
    (
        *NEEDED,
        *("account_id", "account_name", "currency_code", "current_resource_summary", "current_resource_type"),
        *("estimated_monthly_cost_after_discount", "estimated_monthly_cost_before_discount"),
        *("estimated_monthly_savings_before_discount", "implementation_effort", "last_refresh_timestamp"),
        *("recommendation_lookback_period_in_days", "recommendation_source", "recommended_resource_summary"),
        *("recommended_resource_type", "region", "resource_arn", "restart_needed", "rollback_possible"),
    )
)


def hub_row(raw: Mapping[str, Any]) -> HubRow:
    """A recommendation by the export's column names. Raises UserError for one that says no saving or nothing to do."""

    def text(name: str, longest: int) -> str:
        value = raw.get(name)
        return "" if value is None else str(value).replace("\x00", "").strip()[:longest]

    after = _amount(raw, "estimated_monthly_savings_after_discount")
    saving = after if after is not None else _amount(raw, "estimated_monthly_savings_before_discount")
    if saving is None:
        raise UserError("estimated_monthly_savings_after_discount is empty.")
    if saving < 0:
        raise UserError(f"estimated_monthly_savings_after_discount is {saving}, less than 0.")
    cost = _amount(raw, "estimated_monthly_cost_after_discount")
    for name in ("recommendation_id", "action_type"):
        if not text(name, 1):
            raise UserError(f"{name} is empty.")
    return HubRow(
        recommendation_id=text("recommendation_id", 300),
        action=text("action_type", 60),
        resource_arn=text("resource_arn", LONGEST),
        resource_type=text("current_resource_type", 100) or text("recommended_resource_type", 100),
        current=text("current_resource_summary", 300),
        recommended=text("recommended_resource_summary", 300),
        aws_account=text("account_id", 60),
        aws_account_name=text("account_name", 255),
        region=text("region", 60),
        found_by=text("recommendation_source", 60),
        effort=text("implementation_effort", 20),
        restart_needed=_truth(raw.get("restart_needed")),
        rollback_possible=_truth(raw.get("rollback_possible")),
        lookback_days=_days(raw.get("recommendation_lookback_period_in_days")),
        monthly_cost=cost if cost is not None else _amount(raw, "estimated_monthly_cost_before_discount"),
        monthly_saving=saving,
        currency=currency_code(text("currency_code", 20) or "USD", field="currency_code"),
        refreshed_at=_moment(raw.get("last_refresh_timestamp")),
    )


def _amount(raw: Mapping[str, Any], name: str) -> Decimal | None:
    """AWS writes floating point; its shortest text is the amount. None where the field is empty."""
    value = raw.get(name)
    if value is None or str(value).strip() == "":
        return None
    try:
        amount = Decimal(str(value).strip())
    except InvalidOperation:
        raise UserError(f"{name} is {str(value)[:40]!r}, which is no number.") from None
    if not amount.is_finite() or abs(amount) >= _WIDE:
        raise UserError(f"{name} is {str(value)[:40]}, which is no amount.")
    return round(amount, 18)


def _truth(value: Any) -> bool | None:
    return {"true": True, "false": False}.get(str(value).strip().lower())


def _days(value: Any) -> int | None:
    try:
        days = int(float(str(value)))
    except (ValueError, OverflowError):
        return None
    return days if 0 <= days <= 1_000 else None


def _moment(value: Any) -> datetime | None:
    """In UTC, as AWS writes times; None for what is no time."""
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value).strip())
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


OLD: Final = timedelta(days=30)
"""AWS refreshes daily; advice older than a month may be done or wrong by now."""

FORMULA: Final = "AWS's estimate, of 730 hours at the prices after discounts, by the usage of {lookback}."
_COMPUTE: Final = ("ComputeSavingsPlans", "Ec2InstanceSavingsPlans", "Ec2ReservedInstances")
_ACTIONS: Final = {
    "Rightsize": "Rightsize",
    "Stop": "Stop",
    "Delete": "Delete",
    "Upgrade": "Upgrade",
    "ScaleIn": "Scale in",
    "MigrateToGraviton": "Move to Graviton",
    "PurchaseSavingsPlans": "Buy a savings plan",
    "PurchaseReservedInstances": "Reserve",
}
_ACRONYMS: Final = frozenset(("ec2", "ebs", "rds", "ecs", "db", "efs", "nat", "vpc", "aws"))
_EFFORT: Final = {"verylow": "low", "low": "low", "medium": "medium", "high": "high", "veryhigh": "high"}


def hub_candidates(rows: Iterable[ImportedSaving]) -> list[SavingCandidate]:
    """The recommendations that count: one for each resource, and for each commitment that is to be bought."""
    return [_candidate(group) for group in group_by(rows, _about).values()]


def buys_compute(each: SavingCandidate) -> bool:
    """Whether it recommends the same commitment as our own estimate of steady on-demand compute would."""
    return each.rule == HUB.name and each.compute


def old_imports(rows: Sequence[ImportedSaving], today: date) -> date | None:
    """The day of the newest recommendation, where even that is old; else None."""
    days = [(row.refreshed_at or row.imported_at).date() for row in rows]
    newest = max(days, default=today)
    return newest if today - newest > OLD else None


def _is_of_compute(row: ImportedSaving) -> bool:
    return row.action.startswith("Purchase") and row.resource_type in _COMPUTE


def _about(row: ImportedSaving) -> tuple[str, ...]:
    source = (str(row.source_id), row.currency)
    if _is_of_compute(row):
        return (*source, "compute", row.aws_account)
    if row.resource_arn:
        return (*source, "resource", row.resource_arn)
    return (*source, row.recommendation_id)


def _candidate(group: Sequence[ImportedSaving]) -> SavingCandidate:
    row = max(group, key=lambda each: (each.monthly_saving, each.recommendation_id))
    compute = _is_of_compute(row)
    line = LineKey(
        source=str(row.source_id),
        currency=row.currency,
        account=row.aws_account,
        region=row.region,
        usage_type=_words(row.resource_type),
        resource=row.resource_arn,
    )
    lookback = f"{row.lookback_days} days" if row.lookback_days else "the days before"
    note = " → ".join(text for text in (row.current, row.recommended) if text)
    piece = Piece(line, "", row.monthly_cost or Decimal(0), row.monthly_saving, note, whole=not compute)
    risk, why = _risk(row)
    action = _ACTIONS.get(row.action, _words(row.action))
    what = row.resource_arn.rsplit("/", 1)[-1].rsplit(":", 1)[-1] or _words(row.resource_type)
    return SavingCandidate(
        rule=HUB.name,
        unit=_unit(row, compute=compute),
        title=f"{action}: {what}",
        advice=_advice(row, len(group)),
        formula=FORMULA.format(lookback=lookback),
        provider="AWS",
        service=_words(row.resource_type),
        account_name=row.aws_account_name or row.aws_account,
        pieces=[piece],
        compute=compute,
        effort=_EFFORT.get(row.effort.lower().replace(" ", ""), ""),
        risk=risk,
        risk_reason=why,
    )


def _unit(row: ImportedSaving, *, compute: bool) -> tuple[str, ...]:
    """AWS gives the same advice a new id with each refresh: what it is about stays."""
    if compute:
        return ("compute", row.aws_account)
    if row.resource_arn:
        return (row.resource_arn, row.action)
    return (row.aws_account, row.region, row.resource_type, row.action, row.recommended)


def _advice(row: ImportedSaving, alternatives: int) -> str:
    found_by = f"Found by {_words(row.found_by)}. " if row.found_by else ""
    more = f" The largest of {alternatives} alternatives of AWS." if alternatives > 1 else ""
    change = f"{row.current} → {row.recommended}" if row.current and row.recommended else row.recommended
    return f"{found_by}{change or _words(row.resource_type)}.{more}"


def _risk(row: ImportedSaving) -> tuple[str, str]:
    if row.action.startswith("Purchase"):
        return "medium", "A commitment binds for its term, whatever the usage does."
    restart = "It restarts. " if row.restart_needed else ""
    if row.rollback_possible is False:
        return "high", f"{restart}It cannot be undone."
    if row.rollback_possible is None:
        return "medium", f"{restart}AWS does not say whether it can be undone."
    return ("medium" if row.restart_needed else "low"), f"{restart}It can be undone."


def _words(name: str) -> str:
    """EbsVolume: EBS volume. As people read it; unknown names keep their capitals apart."""
    parts = "".join(f" {each}" if each.isupper() else each for each in name).split()
    return " ".join(
        part.upper() if part.lower() in _ACRONYMS else part if at == 0 else part.lower()
        for at, part in enumerate(parts)
    )
