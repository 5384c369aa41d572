"""Data health: every connection, whether it is well, and what to do where it is not."""

from __future__ import annotations

from django.http import HttpResponseBase
from django.views.decorators.http import require_safe
from msgspec import structs

from accounts.page_access import AccountRequest, account_page
from finops.insights.connection_health import IRREGULAR, ConnectionHealth
from finops.insights.data_health import HealthAnswer, data_health, needs_attention
from finops.lib.listing import Column, ListPage

EVERY = 1_000_000

HEALTH = ListPage[ConnectionHealth](
    name="data-health",
    title="Connection health",
    noun="connection",
    columns=[
        Column("name", "Connection", lambda row: row.name),
        Column("kind", "Kind", lambda row: row.kind, shown=False),
        Column("status", "State", lambda row: "overdue" if row.overdue else row.status, css="cell-state"),
        Column("reason", "Reason", lambda row: row.reason, shown=False),
        Column("what_to_do", "Action", lambda row: row.what_to_do, shown=False),
        Column(
            "data_through", "Data through", lambda row: row.data_through, css="nowrap", help="data-through"
        ),
        Column("last_success_at", "Last success", lambda row: row.last_success_at, format="ago"),
        Column("expected_by", "Next expected", lambda row: row.expected_by),
        Column(
            "gaps",
            "Gaps",
            lambda row: [f"{gap.start_date} to {gap.end_date}" for gap in row.gaps] + row.missing_months,
        ),
        Column("restated", "Restated", lambda row: [each.month for each in row.restated_months]),
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    health = data_health(request.account, shown=EVERY)
    context = {
        "health": health,
        "unwell": sum(map(needs_attention, health.connections)),
        "warnings": _not_in_table(health),
        "irregular": any(IRREGULAR in each.expected_reason for each in health.connections) and IRREGULAR,
    }
    rows = [_without_explanation(each) for each in health.connections]
    return HEALTH.response(request, rows, "insights/data_health.html", context)


def _without_explanation(row: ConnectionHealth) -> ConnectionHealth:
    """Return the row of the table, below which the reason for an unknown schedule is written once."""
    return structs.replace(row, expected_reason=row.expected_reason.replace(IRREGULAR, "Schedule unknown"))


def _not_in_table(health: HealthAnswer) -> list[str]:
    """Return the warnings that no row of the table states."""
    stated = [f"{each.name!r} " for each in health.connections if each.reason]
    reasons = [each.reason for each in health.connections if each.reason]
    return [
        warning
        for warning in health.warnings
        if not any(
            name in warning and reason in warning for name, reason in zip(stated, reasons, strict=True)
        )
    ]
