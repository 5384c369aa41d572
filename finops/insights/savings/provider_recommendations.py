"""Provider recommendations (AWS Cost Optimization Hub, Azure Advisor, Google Recommender), by file or API, as
candidates beside those of our own rules. Pure.

Providers see utilization, bills do not: for a resource their recommendation takes precedence over ours. They list
alternatives:

* of several for one resource the largest counts, whichever source, file or API it is from;
* of one commitment in several terms and lookback periods the largest counts;
* of a commitment that is offered for all accounts, and for each of them separately, the larger side counts;
* of reservations (committed use) and savings plans (spend-based commitments) for the same compute the larger side counts:
  "you can only benefit from savings plans for compute or reservations for virtual machines, but not from both"
  (learn.microsoft.com/azure/advisor/advisor-how-to-calculate-total-cost-savings).

The rules of "largest" are ours; docs/adr/0041-of-alternative-cloud-recommendations-only-one-counts.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from finops.insights.models import ImportedSaving
from finops.insights.savings.billed_resources import (
    BilledResource,
    BilledResources,
    billed_of,
    resource_key,
)
from finops.insights.savings.candidates import ADVISOR, HUB, RECOMMENDER, LineKey, Piece, SavingCandidate
from finops.lib.answers import group_by
from finops.lib.money import exact_sum

OLD: Final = timedelta(days=30)
"""Age from which a recommendation is outdated. Providers refresh daily; after a month it may be done or wrong."""
FORMULA: Final = "AWS's estimate for 730 hours at discounted prices, from usage of {lookback}."
CLOUDS: Final[Mapping[str, str]] = {
    HUB.name: "AWS",
    ADVISOR.name: "Microsoft Azure",
    RECOMMENDER.name: "Google Cloud",
}
"""Providers by rule."""
_SHORT: Final = {HUB.name: "AWS", ADVISOR.name: "Azure", RECOMMENDER.name: "Google"}
_COMPUTE: Final = ("ComputeSavingsPlans", "Ec2InstanceSavingsPlans", "Ec2ReservedInstances")
_PLANS: Final = ("PurchaseSavingsPlans",)
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
_ACRONYMS: Final = frozenset(
    ("ec2", "ebs", "rds", "ecs", "db", "efs", "nat", "vpc", "aws", "vm", "ip", "cud")
)
_EFFORT: Final = {"verylow": "low", "low": "low", "medium": "medium", "high": "high", "veryhigh": "high"}
_TERMS: Final = {"P1Y": "1 year", "P3Y": "3 years"}


@dataclass
class _Group:
    """The recommendation that counts, and the alternatives that it replaces."""

    rows: list[ImportedSaving]
    instead: list[str] = field(default_factory=list)

    @property
    def best(self) -> ImportedSaving:
        return self.rows[0]

    @property
    def saving(self) -> Decimal:
        return self.best.monthly_saving


def provider_candidates(
    rows: Iterable[ImportedSaving], billed: BilledResources | None = None
) -> list[SavingCandidate]:
    """Return the recommendations that count: one for each resource, and for each commitment to buy. `billed`: their
    resources in the bill."""
    groups = [_Group(_best_first(group)) for group in group_by(rows, _about).values()]
    commitments = [each for each in groups if each.best.commitment]
    counted = [each for each in groups if not each.best.commitment]
    for bill in group_by(commitments, lambda each: (each.best.rule, each.best.currency)).values():
        counted += _commitments_that_count(bill)
    return [_candidate(each, billed_of(each.best, billed or {})) for each in counted]


def buys_compute(each: SavingCandidate) -> bool:
    """Return whether it recommends the same commitment as our own estimate of steady on-demand compute."""
    return each.rule in CLOUDS and each.compute


def old_imports(rows: Sequence[ImportedSaving], today: date) -> dict[str, date]:
    """Return by rule the day of the newest recommendation, if even that is outdated."""
    newest: dict[str, date] = {}
    for row in rows:
        day = (row.refreshed_at or row.imported_at).date()
        newest[row.rule] = max(day, newest.get(row.rule, day))
    return {rule: day for rule, day in sorted(newest.items()) if today - day > OLD}


def _best_first(group: Sequence[ImportedSaving]) -> list[ImportedSaving]:
    def rank(row: ImportedSaving) -> tuple[Decimal, int, str, int]:
        return row.monthly_saving, row.lookback_days or 0, row.recommendation_id, -row.source_id

    return sorted(group, key=rank, reverse=True)


def _is_aws_compute(row: ImportedSaving) -> bool:
    return row.rule == HUB.name and row.action.startswith("Purchase") and row.resource_type in _COMPUTE


def _about(row: ImportedSaving) -> tuple[str, ...]:
    """Return a key that is equal for alternatives."""
    bill = (row.rule, row.currency)
    if _is_aws_compute(row):
        return (*bill, "compute", row.sub_account)
    if row.commitment:
        return (*bill, "commitment", row.commitment, "" if row.is_shared else row.sub_account)
    if row.resource_id:
        return (*bill, "resource", resource_key(row))
    return (*bill, str(row.source_id), row.recommendation_id)


def _commitments_that_count(groups: Sequence[_Group]) -> list[_Group]:
    """Return the commitments of one rule and currency that count: for all accounts or for each separately, then
    reservations or plans for compute."""
    counted: list[_Group] = []
    for same in group_by(groups, lambda each: each.best.commitment).values():
        counted += _larger_side(same, lambda each: each.best.is_shared)
    compute = [each for each in counted if each.best.covers_compute]
    result = [each for each in counted if not each.best.covers_compute]
    has_shared = any(each.best.is_shared for each in compute)
    for usage in group_by(compute, lambda each: "" if has_shared else each.best.sub_account).values():
        result += _larger_side(usage, _is_plan)
    return result


def _is_plan(group: _Group) -> bool:
    """Return whether it is a commitment to spend on any compute, not on certain machines."""
    row = group.best
    return row.action in _PLANS or (row.rule == RECOMMENDER.name and row.is_shared)


def _larger_side(groups: Sequence[_Group], side_of: Callable[[_Group], bool]) -> list[_Group]:
    """Return the side that saves more; the description of its largest recommendation names what it replaces."""
    sides = [[each for each in groups if side_of(each) is side] for side in (True, False)]
    larger, smaller = sorted(sides, key=lambda side: exact_sum(each.saving for each in side), reverse=True)
    if smaller:
        other = exact_sum(each.saving for each in smaller)
        largest = max(larger, key=lambda each: each.saving)
        number = "1 alternative" if len(smaller) == 1 else f"{len(smaller)} alternatives"
        largest.instead.append(f"Replaces {number} for the same usage, {other:,.2f} {largest.best.currency}.")
    return larger


def _candidate(group: _Group, billed: BilledResource | None) -> SavingCandidate:
    row = group.best
    compute = _is_aws_compute(row) or row.covers_compute
    kind = row.resource_type if row.rule != HUB.name else _words(row.resource_type)
    line = LineKey(
        source=billed.source if billed else str(row.source_id),
        currency=row.currency,
        account=(billed.account if billed else "") or row.sub_account,
        region=row.region,
        usage_type=row.commitment or kind,
        resource=billed.resource if billed and row.rule != HUB.name else row.resource_id,
    )
    in_bill = billed.cost if billed and billed.currency == row.currency else Decimal(0)
    cost = row.monthly_cost if row.monthly_cost is not None else in_bill
    note = " → ".join(text for text in (row.current, row.recommended) if text)
    name = billed.name if billed and row.rule != HUB.name else ""
    piece = Piece(line, name, cost, row.monthly_saving, note, whole=not compute and not row.commitment)
    risk, why = _risk(row)
    return SavingCandidate(
        rule=row.rule,
        unit=_unit(row, compute=compute),
        title=f"{_action_words(row)}: {_subject(row, name)}",
        advice=_advice(group),
        formula=row.formula or FORMULA.format(lookback=_lookback(row)),
        provider=CLOUDS[row.rule],
        service=kind,
        account_name=(billed.account_name if billed else "") or row.sub_account_name or row.sub_account,
        pieces=[piece],
        compute=compute,
        effort=_EFFORT.get(row.effort.lower().replace(" ", ""), ""),
        risk=risk,
        risk_reason=why,
    )


def _lookback(row: ImportedSaving) -> str:
    return f"{row.lookback_days} days" if row.lookback_days else "the previous days"


def _action_words(row: ImportedSaving) -> str:
    if row.action in _ACTIONS:
        return _ACTIONS[row.action]
    if row.rule == ADVISOR.name:
        return row.action
    return _words(row.action.replace("_", " ").capitalize() if row.action.isupper() else row.action)


def _subject(row: ImportedSaving, name: str) -> str:
    if row.commitment and row.rule == ADVISOR.name:
        return row.commitment
    last = row.resource_id.rstrip("/").rsplit("/", 1)[-1].rsplit(":", 1)[-1]
    return name or last or (_words(row.resource_type) if row.rule == HUB.name else row.recommended)


def _unit(row: ImportedSaving, *, compute: bool) -> tuple[str, ...]:
    """Return the recommendation's subject, which stays the same: providers give the same recommendation a new id at
    each refresh."""
    if row.commitment:
        return ("commitment", row.commitment, "" if row.is_shared else row.sub_account)
    if compute:
        return ("compute", row.sub_account)
    if row.resource_id:
        return (resource_key(row), row.action)
    return (row.sub_account, row.region, row.resource_type, row.action, row.recommended)


def _advice(group: _Group) -> str:
    row = group.best
    found_by = f"Found by {_words(row.found_by)}." if row.found_by else ""
    change = f"{row.current} → {row.recommended}" if row.current and row.recommended else row.recommended
    change = (change or _words(row.resource_type)).removesuffix(".")
    term = f"For {_TERMS.get(row.term, row.term)}, by the usage of {_lookback(row)}." if row.term else ""
    more = (
        f"The largest of {len(group.rows)} alternatives of {_SHORT[row.rule]}." if len(group.rows) > 1 else ""
    )
    return " ".join(text for text in (found_by, f"{change}.", term, more, *group.instead) if text)


def _risk(row: ImportedSaving) -> tuple[str, str]:
    if row.action.startswith("Purchase") or row.commitment:
        return "medium", "A commitment is paid for its term, regardless of usage."
    restart = "Requires a restart. " if row.restart_needed else ""
    if row.rollback_possible is False:
        return "high", f"{restart}Cannot be undone."
    if row.rollback_possible is None:
        return "medium", f"{restart}{_SHORT[row.rule]} does not state whether it can be undone."
    return ("medium" if row.restart_needed else "low"), f"{restart}Can be undone."


def _words(name: str) -> str:
    """Return a readable name: EbsVolume gives EBS volume. Unknown names are split at their capitals."""
    parts = "".join(f" {each}" if each.isupper() else each for each in name).split()
    return " ".join(
        part.upper() if part.lower() in _ACRONYMS else part if at == 0 else part.lower()
        for at, part in enumerate(parts)
    )
