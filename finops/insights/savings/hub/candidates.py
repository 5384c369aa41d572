"""Imported recommendations as candidates beside those of our own rules. Pure.

AWS sees utilization, bills do not: on one resource its recommendation goes before ours. Of several for one resource the
largest counts, and so does the largest commitment to compute of each AWS account: AWS lists alternatives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from finops.insights.models import ImportedSaving
from finops.insights.savings.candidates import Candidate, LineKey, Piece
from finops.insights.savings.rules import HUB

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
_EFFORT: Final = {"verylow": "low", "low": "low", "medium": "medium", "high": "high", "veryhigh": "high"}


def hub_candidates(rows: Iterable[ImportedSaving]) -> list[Candidate]:
    """The recommendations that count: one for each resource, and for each commitment that is to be bought."""
    groups: dict[tuple[str, ...], list[ImportedSaving]] = defaultdict(list)
    for row in rows:
        groups[_about(row)].append(row)
    return [_candidate(group) for group in groups.values()]


def buys_compute(each: Candidate) -> bool:
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


def _candidate(group: Sequence[ImportedSaving]) -> Candidate:
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
    return Candidate(
        rule=HUB.name,
        unit=_unit(row, compute=compute),
        title=_title(row),
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


def _title(row: ImportedSaving) -> str:
    action = _ACTIONS.get(row.action, _words(row.action))
    what = row.resource_arn.rsplit("/", 1)[-1].rsplit(":", 1)[-1] or _words(row.resource_type)
    return f"{action}: {what}"


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
    labels = {
        "ec2": "EC2",
        "ebs": "EBS",
        "rds": "RDS",
        "ecs": "ECS",
        "db": "DB",
        "efs": "EFS",
        "nat": "NAT",
        "vpc": "VPC",
        "aws": "AWS",
    }
    parts = "".join(f" {each}" if each.isupper() else each for each in name).split()
    return " ".join(
        labels.get(part.lower(), part if at == 0 else part.lower()) for at, part in enumerate(parts)
    )
