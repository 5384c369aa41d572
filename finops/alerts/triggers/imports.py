"""Imports that change a billing month too much: which are sent, and their message."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any, Final

from django.db.models import Q

from accounts.models import Account
from finops.alerts.messages import Fact, Message, console_url
from finops.alerts.triggers.figures import amount
from finops.costs.models import CostImport
from finops.lib import clock
from finops.lib.formats import dates, numbers
from finops.lib.sentences import quote, truncate

LATE_DAYS: Final = 7
"""Days after which an import that continued is history."""
MOST_FACTS: Final = 20


def recent() -> list[CostImport]:
    """Return imports of the account in scope that wait for review, and syncs of the last week that continued although
    they need review, with their sources. One query."""
    went_on = Q(
        status=CostImport.Status.DONE,
        origin=CostImport.Origin.SYNC,
        finished_at__gte=clock.now() - timedelta(days=LATE_DAYS),
        report__has_key="reviews",
    )
    rows = CostImport.objects.filter(Q(status=CostImport.Status.WAITING) | went_on)
    return list(rows.select_related("source").order_by("pk"))


def waits(job: CostImport) -> bool:
    return job.status == CostImport.Status.WAITING


def key_of(job: CostImport) -> str:
    """Return the firing key: one firing for each import, also when it waits again."""
    return f"import:{job.pk}"


def message(account: Account, job: CostImport) -> Message:
    source, reviews = truncate(job.source.name, 100), job.report.get("reviews", [])
    reasons = " ".join(review["reason"] for review in reviews)
    months = {review.get("month") for review in reviews}
    changes = [change for change in job.report.get("changes", []) if change["month"] in months]
    event = "needs review" if waits(job) else "changed a month beyond the limit"
    effect = "It is not counted until it is reviewed." if waits(job) else "It was a sync, so it is counted."
    return Message(
        title=f"{quote(account.name)}: an import into {quote(source)} {event}",
        summary=f"{quote(job.file_name, 100)}: {truncate(reasons, 600)} {effect}",
        facts=(
            Fact("Account", account.name),
            Fact("Source", source),
            *(
                Fact(f"{dates.bucket(change['month'])} billed", _change_text(change))
                for change in changes[:MOST_FACTS]
            ),
        ),
        url=console_url(account, "cost_import", import_id=job.pk),
        severity="warning",
        kind="import",
        dedup_key=f"account-{account.pk}:import-{job.pk}",
        data={
            "import_id": job.pk,
            "source": job.source.name,
            "waits": waits(job),
            "months": [_data(change) for change in changes[:MOST_FACTS]],
        },
    )


def _change_text(change: dict[str, Any]) -> str:
    before, after = (Decimal(change[name]) for name in ("billed_before", "billed_after"))
    return f"{numbers.money(before, change['currency'])} before, {numbers.money(after, change['currency'])} with it"


def _data(change: dict[str, Any]) -> dict[str, Any]:
    before, after = (
        amount(Decimal(change[name]), change["currency"]) for name in ("billed_before", "billed_after")
    )
    return {"month": change["month"], "before": before, "after": after}
