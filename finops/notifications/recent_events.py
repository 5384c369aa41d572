"""Recent events for an assistant that starts without data: notifications, the newest first."""

from __future__ import annotations

from datetime import timedelta

from accounts.models import Account
from finops.lib import clock
from finops.lib.answers import AccountRef
from finops.lib.cost_access import require_whole_account
from finops.lib.sentences import quote
from finops.notifications.models import Notification
from finops.notifications.schemas import RecentEvent, RecentEventsAnswer, RecentEventsQuery

HINT = (
    "Details: listAnomalies, listBudgets, getDataHealth; deployments and releases: listChangeEvents. For newer events only, "
    "set after to the first ID."
)


def recent_events(account: Account, query: RecentEventsQuery, *, site: str) -> RecentEventsAnswer:
    """Return the events that every member may read. `site` is the base URL of page paths. Two queries."""
    require_whole_account()
    since = clock.now() - timedelta(days=query.days)
    rows = Notification.objects.filter(
        created_at__gte=since, admins_only=False, pk__gt=min(query.after, 2**62)
    )
    total = rows.count()
    events = [_event(row, site) for row in rows[: query.limit]]
    is_cut = len(events) < total
    return RecentEventsAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=_summary(account, query, events, total),
        events=events,
        total_events=total,
        truncated=f"The newest {len(events)} of {total:,}. Ask for fewer days." if is_cut else "",
        warnings=[],
        hint=HINT,
    )


def _event(row: Notification, site: str) -> RecentEvent:
    return RecentEvent(
        id=row.pk,
        at=row.created_at,
        kind=row.kind,
        severity=row.severity,
        title=row.title,
        text=row.text,
        currency=row.currency,
        console_url=f"{site}{row.path}",
    )


def _summary(account: Account, query: RecentEventsQuery, events: list[RecentEvent], total: int) -> str:
    days = "day" if query.days == 1 else f"{query.days} days"
    of = f" after event {query.after}" if query.after else ""
    if not events:
        return f"{quote(account.name)} has no alerts and no failed jobs in the last {days}{of}."
    noun = "alert or failed job" if total == 1 else "alerts and failed jobs"
    newest = events[0]
    return (
        f"{quote(account.name)} has {total:,} {noun} in the last {days}{of}; the newest: {quote(newest.title)} "
        f"on {newest.at:%Y-%m-%d}."
    )
