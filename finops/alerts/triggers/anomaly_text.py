"""What is said of anomalies. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from accounts.models import Account
from finops.alerts.links import console_url
from finops.alerts.messages import Fact, Message, Severity
from finops.alerts.triggers.figures import amount, signed_amount
from finops.insights.answers import AnomalyRow, RootCause
from finops.insights.models import Anomaly
from finops.insights.queries import row_of
from finops.lib import sentences

MOST_LISTED: Final = 20

_SEVERITIES: Final[dict[str, Severity]] = {"high": "critical", "medium": "warning", "low": "info"}


def message(account: Account, anomaly: Anomaly) -> Message:
    """Of one; its source must be loaded."""
    row = row_of(anomaly)
    more = "more" if row.impact > 0 else "less"
    size = sentences.money(row.impact.copy_abs(), row.currency)
    return Message(
        title=f"{sentences.quote(account.name)}: {sentences.quote(_name(row))} cost {size} {more} than expected",
        summary=_summary(row),
        facts=tuple(_facts(account, row)),
        url=console_url(account, "anomaly", anomaly_key=row.id),
        # A drop costs nothing; it may be an outage, and is worth a look.
        severity=_SEVERITIES[row.severity] if row.impact > 0 else "info",
        kind="anomaly",
        dedup_key=f"account-{account.pk}:{row.id}",
        data=_data(row),
    )


def combined_message(account: Account, anomalies: Sequence[Anomaly]) -> Message:
    """Of many in one; largest first, their sources loaded."""
    rows = [row_of(each) for each in anomalies]
    facts = [Fact(f"{_name(row)}, {row.source}", signed_amount(row.impact, row.currency)) for row in rows]
    omitted_count = len(rows) - MOST_LISTED
    return Message(
        title=f"{sentences.quote(account.name)}: {len(rows)} more anomalies",
        summary=f"{len(rows)} more anomalies were found at the same time; the largest: {_summary(rows[0])}",
        facts=(*facts[:MOST_LISTED], *([Fact("And", f"{omitted_count} more")] if omitted_count > 0 else [])),
        url=console_url(account, "anomalies"),
        severity="warning",
        kind="anomaly",
        dedup_key=f"account-{account.pk}:{rows[0].id}:and-more",
        data={"anomalies": [_data(row) for row in rows[:MOST_LISTED]]},
    )


def _name(row: AnomalyRow) -> str:
    """What a service, team or cost tag value is called."""
    return sentences.truncate(row.name or row.value or "(none)", 120)


def _summary(row: AnomalyRow) -> str:
    actual, expected = (sentences.money(each, row.currency) for each in (row.actual, row.expected))
    days = str(row.first_day) if row.first_day == row.last_day else f"{row.first_day} to {row.last_day}"
    end = " It goes on." if row.ongoing else ""
    return f"{sentences.quote(_name(row))} of {sentences.quote(row.source)}, {days}: {actual} where {expected} was expected.{end}"


def _facts(account: Account, row: AnomalyRow) -> list[Fact]:
    facts = [
        Fact("Account", account.name),
        Fact("Impact", signed_amount(row.impact, row.currency)),
        Fact("Actual", sentences.money(row.actual, row.currency)),
        Fact("Expected", sentences.money(row.expected, row.currency)),
        Fact("Days", f"{row.first_day} to {row.last_day}{', and it goes on' if row.ongoing else ''}"),
        Fact("Source", row.source),
    ]
    if row.ongoing:
        facts.append(Fact("At the month's end", signed_amount(row.month_end_impact, row.currency)))
    return [*facts, *(Fact(f"By {cause.dimension}", _cause(cause)) for cause in row.root_causes)]


def _cause(cause: RootCause) -> str:
    part = f" ({sentences.percent_text(cause.share)})" if cause.share is not None else ""
    return f"{sentences.truncate(cause.name or cause.value, 120)} {signed_amount(cause.impact, cause.currency)}{part}"


def _data(row: AnomalyRow) -> dict[str, Any]:
    return {
        "anomaly_id": row.id,
        "source": row.source,
        "dimension": row.dimension,
        "value": row.value,
        "kind": row.kind,
        "first_day": str(row.first_day),
        "last_day": str(row.last_day),
        "ongoing": row.ongoing,
        "impact": amount(row.impact, row.currency),
        "actual": amount(row.actual, row.currency),
        "expected": amount(row.expected, row.currency),
    }
