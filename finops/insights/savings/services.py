"""Writes on savings: recommendations dismissed, marked as done or reopened, and provider recommendations imported by
file and API."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import BinaryIO

import msgspec
from django.db import transaction
from django.db.models import QuerySet

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from finops.connections.connector import AccessError, SourceError
from finops.connections.connectors import connectors
from finops.connections.models import CostConnection
from finops.connections.services.credentials import config_of
from finops.costs.models import CostSource
from finops.insights.models import ImportedSaving, RecommendationRefresh, SavingsDismissal
from finops.insights.savings.candidates import HUB, SavingCandidate, SavingScope, SavingsRule
from finops.insights.savings.hub import read_file
from finops.insights.savings.recommendation_api import RecommendationList, RecommendationRow
from finops.insights.savings.recommendation_apis import (
    billed_accounts,
    may_have_api,
    recommendation_api_of,
)
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.sentences import truncate
from finops.worker.broker import publish

MAX_REASON = 2_000
OLDEST_DAYS = 365
MAX_ERROR = 1_000
REFRESH_TASK = "insights.refresh_recommendations"
REFRESH_PAUSE = timedelta(minutes=1)
"""Minimum pause between two refreshes by people."""


class SavingSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Copy of a recommendation that is stored with a decision, also of one that the bills no longer show then."""

    key: str
    rule: str
    title: str
    currency: str
    saving: Decimal | None
    cost: Decimal
    scope: SavingScope


def snapshot_of(candidate: SavingCandidate) -> SavingSnapshot:
    return SavingSnapshot(**{name: getattr(candidate, name) for name in SavingSnapshot.__struct_fields__})


def dismiss(
    *, account: Account, actor: Actor, candidate: SavingCandidate | SavingSnapshot, reason: str
) -> SavingsDismissal:
    """Dismiss a recommendation: it is in no total any more.

    Raises UserError without a reason, or for one that is too long.
    """
    if not reason.strip():
        raise UserError("Enter the reason for dismissing.", field="reason")
    return _mark(account, actor, candidate, SavingsDismissal.Status.DISMISSED, reason, None)


def record_saving_action(
    *,
    account: Account,
    actor: Actor,
    candidate: SavingCandidate | SavingSnapshot,
    acted_on: date,
    reason: str = "",
) -> SavingsDismissal:
    """Mark a recommendation as done on a day: later bills show the realized saving.

    Raises UserError for a day in the future or more than a year ago, and for a reason that is too long.
    """
    today = clock.today()
    if not today - timedelta(days=OLDEST_DAYS) <= acted_on <= today:
        raise UserError(
            f"acted_on: {acted_on} is not a day of the last year up to today ({today}).",
            field="acted_on",
            value=str(acted_on),
        )
    return _mark(account, actor, candidate, SavingsDismissal.Status.ACTED, reason, acted_on)


@transaction.atomic
def _mark(
    account: Account,
    actor: Actor,
    candidate: SavingCandidate | SavingSnapshot,
    status: SavingsDismissal.Status,
    reason: str,
    acted_on: date | None,
) -> SavingsDismissal:
    if len(reason) > MAX_REASON:
        raise UserError(f"reason: {len(reason):,} characters; the maximum is {MAX_REASON:,}.", field="reason")
    fields = {
        "status": status,
        "reason": reason.strip(),
        "acted_on": acted_on,
        "rule": candidate.rule,
        "title": candidate.title,
        "currency": candidate.currency,
        "monthly_saving": candidate.saving,
        "monthly_cost": candidate.cost,
        "scope": msgspec.to_builtins(candidate.scope),
        "marked_by": actor.user,
        "marked_by_label": actor.label[:254],
        "marked_at": clock.now(),
    }
    # Amounts have up to 38 digits where the column keeps 18 decimals: it rounds.
    unclean = ["account", "marked_by", "monthly_saving", "monthly_cost"]
    SavingsDismissal(account=account, key=candidate.key, **fields).clean_fields(exclude=unclean)
    # Two people at once: the second waits for the first one's row, and what they say last holds.
    row, _ = SavingsDismissal.objects.update_or_create(account=account, key=candidate.key, defaults=fields)
    detail = {"id": row.key, "status": status, "reason": row.reason, "acted_on": str(acted_on or "")}
    action = f"saving.{'act' if acted_on else 'dismiss'}"
    audit.record(account=account, actor=actor, action=action, target=row.title[:254], detail=detail)
    return row


@transaction.atomic
def reopen(*, account: Account, actor: Actor, mark: SavingsDismissal) -> None:
    """Delete the decision: while the bills show the recommendation, it is open again. The audit log keeps the
    decision."""
    was = {"id": mark.key, "status": mark.status, "reason": mark.reason}
    SavingsDismissal.objects.filter(pk=mark.pk).delete()
    audit.record(account=account, actor=actor, action="saving.reopen", target=mark.title[:254], detail=was)


@dataclass(frozen=True)
class RecommendationImport:
    """Result of a file or an API. `problems` name the first rows that were left out, `gaps` the accounts that were
    not read."""

    kept: int
    replaced: int
    left_out: int
    problems: list[str]
    gaps: list[str]


def import_recommendations(*, source: CostSource, actor: Actor, file: BinaryIO) -> RecommendationImport:
    """Replace the source's recommendations by those of the file: each AWS export has all open ones.

    Raises UserError for a file that is not such an export, or without a readable row: the source's recommendations
    then stay.
    """
    hub_file = read_file(file)
    if hub_file.left_out and not hub_file.rows:
        raise UserError(f"No row of the file is readable. {hub_file.problems[0]}", field="file")
    return _replace_recommendations(source, actor, hub_file, HUB, RecommendationRefresh.Origin.FILE)


def refresh_recommendations(*, source: CostSource, actor: Actor) -> RecommendationImport | None:
    """Replace the source's recommendations by the current ones of its provider, except for accounts that could not be
    read. Returns None for a source without an API, that is paused, or has no bill yet. Raises SourceError when the
    provider refuses: the recommendations then stay, and the refresh records why."""
    connection = CostConnection.objects.filter(source=source, paused_at__isnull=True).first()
    if connection is None:
        return None
    config = config_of(connection)
    api = recommendation_api_of(config)
    if api is None:
        return None
    accounts = billed_accounts(source) if api.is_by_account else []
    if api.is_by_account and not accounts:
        return None
    try:
        recommendations = api.recommendations(config, accounts)
    except SourceError as error:
        _note_failure(source, api.rule, error)
        raise
    recommendations.rows = _without_other_sources(source, recommendations.rows)
    return _replace_recommendations(
        source, actor, recommendations, api.rule, RecommendationRefresh.Origin.API
    )


def _without_other_sources(source: CostSource, rows: Sequence[RecommendationRow]) -> list[RecommendationRow]:
    """Leave out recommendations that another source has: two connections to one organization see the same ones, which
    count in the source that had them first."""
    other_rows = ImportedSaving.objects.filter(account=source.account).exclude(source=source)
    fields = ("rule", "sub_account", "resource_id", "resource_type", "action", "commitment")
    elsewhere = set(other_rows.values_list(*fields))
    return [row for row in rows if tuple(getattr(row, name) for name in fields) not in elsewhere]


def refreshable_sources() -> list[tuple[int, int]]:
    """Return account and id of every source with an API of recommendations, by the kind of its connector."""
    return list(_refreshable().values_list("account_id", "source_id"))


def request_refreshes(*, account: Account) -> int:
    """Queue a refresh of each source that was not refreshed in the last minute; returns their number."""
    since = clock.now() - REFRESH_PAUSE
    recent = RecommendationRefresh.objects.filter(
        account=account, origin=RecommendationRefresh.Origin.API, tried_at__gt=since
    )
    sources = set(_refreshable(account).values_list("source_id", flat=True))
    due = sources - set(recent.values_list("source_id", flat=True))
    for source_id in sorted(due):
        publish(REFRESH_TASK, account.pk, source_id, expires=3_600)
    return len(due)


def has_refreshable_source(account: Account) -> bool:
    """Return whether any source has an API of recommendations."""
    return _refreshable(account).exists()


def _refreshable(account: Account | None = None) -> QuerySet[CostConnection]:
    names = [name for name, connector in connectors().items() if may_have_api(connector.Config)]
    # Unscoped without an account: what is due in all of them.
    rows = CostConnection.objects.filter(account=account) if account else CostConnection.objects.unscoped()
    return rows.filter(connector__in=names, paused_at__isnull=True)


def _note_failure(source: CostSource, rule: SavingsRule, error: SourceError) -> None:
    RecommendationRefresh.objects.update_or_create(
        account=source.account,
        source=source,
        defaults={
            "rule": rule.name,
            "origin": RecommendationRefresh.Origin.API,
            "tried_at": clock.now(),
            "error": truncate(error.message, MAX_ERROR),
            "is_denied": isinstance(error, AccessError),
        },
    )


def _replace_recommendations(
    source: CostSource, actor: Actor, recommendations: RecommendationList, rule: SavingsRule, origin: str
) -> RecommendationImport:
    now = clock.now()
    rows = [
        ImportedSaving(account=source.account, source=source, imported_at=now, **msgspec.structs.asdict(row))
        for row in recommendations.rows
    ]
    gaps = list(recommendations.unread.values())
    with transaction.atomic():
        # Two files at once: one after the other, and the source has one of them whole.
        CostSource.objects.select_for_update(no_key=True).get(pk=source.pk)
        stale = ImportedSaving.objects.filter(source=source).exclude(
            sub_account__in=list(recommendations.unread)
        )
        replaced = stale.delete()[0]
        ImportedSaving.objects.bulk_create(rows, batch_size=1_000)
        RecommendationRefresh.objects.update_or_create(
            account=source.account,
            source=source,
            defaults={
                "rule": rule.name,
                "origin": origin,
                "tried_at": now,
                "succeeded_at": now,
                "kept": ImportedSaving.objects.filter(source=source).count(),
                "left_out": recommendations.left_out,
                "gaps": gaps,
                "error": "",
                "is_denied": False,
            },
        )
        audit.record(
            account=source.account,
            actor=actor,
            action="savings_import.replace",
            target=source.name,
            detail={"kept": len(rows), "replaced": replaced, "left_out": recommendations.left_out},
        )
    return RecommendationImport(len(rows), replaced, recommendations.left_out, recommendations.problems, gaps)
