"""What people say about recommendations: not worth it, done, or open again."""

from __future__ import annotations

from datetime import date, timedelta

import msgspec
from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from finops.insights.models import SavingsDismissal
from finops.insights.savings.candidates import Candidate
from finops.lib import clock
from finops.lib.errors import UserError

MAX_REASON = 2_000
OLDEST_DAYS = 365


def dismiss(*, account: Account, actor: Actor, candidate: Candidate, reason: str) -> SavingsDismissal:
    """Put a recommendation aside: it counts in no total any more. Raises UserError without a reason."""
    if not reason.strip():
        raise UserError(
            "Say why it is dismissed, so that the next person does not ask again.", field="reason"
        )
    return _mark(account, actor, candidate, SavingsDismissal.Status.DISMISSED, reason, None)


def mark_acted(
    *, account: Account, actor: Actor, candidate: Candidate, acted_on: date, reason: str = ""
) -> SavingsDismissal:
    """Say on which day something was done about it: the bills after it show what that saved.

    Raises UserError for a day in the future or more than a year ago."""
    today = clock.today()
    if not today - timedelta(days=OLDEST_DAYS) <= acted_on <= today:
        raise UserError(
            f"acted_on: a day of the last year, at most today ({today}); {acted_on} is not.",
            field="acted_on",
            value=str(acted_on),
        )
    return _mark(account, actor, candidate, SavingsDismissal.Status.ACTED, reason, acted_on)


@transaction.atomic
def _mark(
    account: Account,
    actor: Actor,
    candidate: Candidate,
    status: SavingsDismissal.Status,
    reason: str,
    acted_on: date | None,
) -> SavingsDismissal:
    if len(reason) > MAX_REASON:
        raise UserError(
            f"reason: at most {MAX_REASON:,} characters, {len(reason):,} were given.", field="reason"
        )
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
    _audit(account, actor, f"saving.{'act' if acted_on else 'dismiss'}", row, detail)
    return row


@transaction.atomic
def reopen(*, account: Account, actor: Actor, mark: SavingsDismissal) -> None:
    """Forget what was said of it: while the bills show it, it is open again. The audit log keeps what was said."""
    was = {"id": mark.key, "status": mark.status, "reason": mark.reason}
    SavingsDismissal.objects.filter(pk=mark.pk).delete()
    _audit(account, actor, "saving.reopen", mark, was)


def _audit(
    account: Account, actor: Actor, action: str, row: SavingsDismissal, detail: dict[str, str]
) -> None:
    audit.record(account=account, actor=actor, action=action, target=row.title[:254], detail=detail)
