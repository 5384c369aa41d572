"""Lake queries of commitments: their cost lines, eligible usage, and Contract Commitment files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import reduce
from operator import and_
from typing import Any, Final

import ibis
import pyarrow as pa

from finops.costs.dated_names import newest
from finops.costs.filters import ResolvedFilter, all_of
from finops.costs.models import ContractCommitment
from finops.costs.queries.spend_lake import NO_CURRENCY, TRUNCATIONS, is_incomplete
from finops.lib.money import round_amount
from finops.lib.sentences import money, truncate

_KEYS = (
    *("source", "provider", "service", "currency", "commitment_id", "commitment_type", "commitment_category"),
    *("commitment_status", "charge_category", "charge_frequency", "commitment_unit", "bucket", "eligible"),
)
_DERIVED = ("bucket", "currency", "eligible")
_AMOUNTS = ("billed_cost", "effective_cost", "list_cost", "contracted_cost", "commitment_quantity")
_DESCRIPTIONS = ("commitment_name", "charge_description", "charge_date")


@dataclass(frozen=True)
class CommitmentBuild:
    """Sums by commitment, kind of line, and bucket; lines without a commitment are usage at standard prices, or usage
    that its bill marks as eligible. Equal for equal queries, so that the lake compiles each once."""

    filters: tuple[ResolvedFilter, ...]
    granularity: str
    incomplete: tuple[tuple[int, date], ...] = ()

    @property
    def tag_keys(self) -> list[str]:
        return list(dict.fromkeys(key for item in self.filters for key in item.dimension.tag_keys))

    def __call__(self, table: Any) -> Any:
        standard = (table.charge_category == "Usage") & (table.pricing_category == "Standard")
        # The text of {"CommitmentPrograms": [{"ProgramType": …}]}; empty objects and lists name no program.
        eligible = table.commitment_program_eligibility_details.contains('"ProgramType"').fill_null(False)
        relevant = table.commitment_id.notnull() | standard.fill_null(False) | eligible
        lines = table.filter(reduce(and_, [relevant, *all_of(table, self.filters)]))
        start = (
            ibis.null("date")
            if self.granularity == "none"
            else lines.charge_date.truncate(TRUNCATIONS[self.granularity])
        )
        # Named one by one: what is passed on whole is read whole, and hinders summaries.
        keyed = lines.select(
            *(name for name in (*_KEYS, *_AMOUNTS, *_DESCRIPTIONS) if name not in _DERIVED),
            bucket=start,
            eligible=lines.commitment_program_eligibility_details.contains('"ProgramType"').fill_null(False),
            currency=lines.currency.coalesce(NO_CURRENCY),
            late=is_incomplete(lines, self.incomplete) if self.incomplete else ibis.literal(False),
        )
        sums = {name: keyed[name].sum() for name in _AMOUNTS}
        missing = {
            f"{name}_missing": ibis.ifelse(keyed[name].isnull(), 1, 0).max()
            for name in ("list_cost", "contracted_cost", "commitment_quantity")
        }
        return keyed.group_by(list(_KEYS)).aggregate(
            **sums,
            **missing,
            incomplete=keyed.effective_cost.sum(where=keyed.late),
            name=newest(keyed, keyed.commitment_name),
            term=keyed.charge_description.max(),
            first_day=keyed.charge_date.min(),
            last_day=keyed.charge_date.max(),
        )


@dataclass(frozen=True)
class CommitmentSum:
    """Sum of lines of one kind. `commitment` empty: usage at standard prices without a commitment. Costs that some of
    the lines lack are None."""

    source: str
    provider: str
    service: str
    currency: str
    commitment: str
    type: str
    category: str
    status: str
    charge_category: str
    frequency: str
    unit: str | None
    bucket: date | None
    billed: Decimal
    effective: Decimal
    list: Decimal | None
    contracted: Decimal | None
    quantity: Decimal | None
    name: str
    description: str
    first_day: date
    last_day: date
    incomplete: Decimal = Decimal(0)
    """The part of the effective cost that is on incomplete days."""
    eligible: bool = False
    """Whether the lines' CommitmentProgramEligibilityDetails (FOCUS 1.4) name a program."""


def read_sums(table: pa.Table) -> list[CommitmentSum]:
    """Return the result of `CommitmentBuild` as typed rows."""
    return [_read(row) for row in table.to_pylist()]


def _read(row: dict[str, Any]) -> CommitmentSum:
    return CommitmentSum(
        source=row["source"],
        provider=row["provider"] or "",
        service=row["service"] or "",
        currency=row["currency"],
        commitment=row["commitment_id"] or "",
        type=row["commitment_type"] or "",
        category=row["commitment_category"] or "",
        status=row["commitment_status"] or "",
        charge_category=row["charge_category"] or "",
        frequency=row["charge_frequency"] or "",
        unit=row["commitment_unit"],
        bucket=row["bucket"],
        billed=row["billed_cost"] or Decimal(0),
        effective=row["effective_cost"] or Decimal(0),
        list=_whole(row, "list_cost"),
        contracted=_whole(row, "contracted_cost"),
        quantity=_whole(row, "commitment_quantity"),
        name=row["name"] or "",
        description=row["term"] or "",
        first_day=row["first_day"],
        last_day=row["last_day"],
        incomplete=row["incomplete"] or Decimal(0),
        eligible=row["eligible"],
    )


def _whole(row: dict[str, Any], name: str) -> Decimal | None:
    """Return the sum; None if a line lacks the figure, since a partial sum would look complete."""
    amount: Decimal | None = row[name]
    return None if row[f"{name}_missing"] else amount


SOURCE: Final = "Contract Commitment file"
LONGEST: Final = 200


@dataclass(frozen=True)
class Contract:
    """The newest period of a commitment, both days included; `scope`: its description by the provider."""

    starts_on: date
    ends_on: date
    scope: str
    contract: str

    @classmethod
    def of(cls, row: ContractCommitment) -> Contract:
        # FOCUS ends periods with the first moment that is outside.
        first, last = row.period_start.date(), (row.period_end - timedelta(microseconds=1)).date()
        return cls(first, max(last, first), _scope(row), row.contract_id)

    @property
    def reason(self) -> str:
        of = f" of contract {self.contract}" if self.contract else ""
        return f"{SOURCE}: {self.starts_on} to {self.ends_on}{of}."


def read_contracts(commitments: Collection[str]) -> Mapping[str, Contract]:
    """Return contracts by commitment id; of several periods the one that ends last. One query, none without ids."""
    if not commitments:
        return {}
    rows = ContractCommitment.objects.filter(commitment_id__in=commitments).order_by("period_end", "pk")
    return {row.commitment_id: Contract.of(row) for row in rows}


def _scope(row: ContractCommitment) -> str:
    parts = [row.description, row.commitment_type, row.category]
    if row.quantity is not None:
        parts.append(f"{round_amount(row.quantity).normalize():,f} {row.unit}".strip())
    if row.cost is not None and row.currency:
        parts.append(money(row.cost, row.currency))
    return truncate(", ".join(dict.fromkeys(part for part in parts if part)), LONGEST)
