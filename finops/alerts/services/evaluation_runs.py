"""Evaluate subscriptions: hourly, and whenever an account's cost, anomalies, budgets or subscriptions change.

The database decides what is due: `AlertEvaluation` stores what was last evaluated. Each firing is saved with its
delivery in one transaction, so both exist or neither. Repeated or concurrent evaluations, or a kill, never send
anything twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

from django.db import connection, transaction

from accounts.models import Account
from accounts.scoping import account_scope
from finops.alerts.evaluation import AlertCandidate, Evaluation
from finops.alerts.events.evaluation import EventEvaluation
from finops.alerts.messages import currencies_in
from finops.alerts.models import AlertDelivery, AlertEvaluation, AlertFiring, AlertSubscription
from finops.alerts.queries.limits import sending_subscriptions
from finops.alerts.services.deliveries import deliver
from finops.alerts.services.delivery_rows import hold_channel
from finops.alerts.services.event_emission import emit
from finops.alerts.triggers.sources import FAILURES_BEFORE_ALERT
from finops.exchange_rates.display import account_display
from finops.lib import clock
from finops.lib.advisory_lock import advisory_lock
from finops.lib.errors import UserError
from finops.lib.sentences import quote
from finops.notifications.models import Notification
from finops.notifications.services import notify

EVALUATOR: Final = "1"
"""The version of the evaluation rules. A new number evaluates every account again."""

DEADLINE: Final = 120.0
"""Seconds for all lake queries of one evaluation together."""

RETRY: Final = timedelta(minutes=10)

_DUE: Final = """
SELECT account_id, version FROM (
    SELECT active.account_id, done.version AS seen, done.error, done.finished_at, concat_ws(
        '/', %(evaluator)s, %(hour)s, active.mark, coalesce(live.mark, '-'), coalesce(done.asks, 0), run.finished_at,
        (SELECT max(id) || '-' || count(*) FROM costs_costimport WHERE account_id = active.account_id AND status = 'waiting'),
        (SELECT string_agg(id || '-' || failing_since, ',' ORDER BY id) FROM connections_costconnection
        WHERE account_id = active.account_id AND failures >= {failures} AND paused_at IS NULL)
    ) AS version
    FROM (
        SELECT account_id, concat_ws('-', max(alert), count(alert), max(event), count(event)) AS mark
        FROM (
            SELECT account_id, id AS alert, NULL AS event
            FROM alerts_alertsubscription WHERE paused_at IS NULL {which}
            UNION ALL SELECT account_id, NULL, id
            FROM alerts_eventsubscription WHERE ended_at IS NULL AND expires_at > %(now)s {which}
        ) AS subscriptions GROUP BY account_id
    ) AS active LEFT JOIN LATERAL (
        SELECT max(id) || '-' || count(*) AS mark
        FROM lake_lakesegment WHERE account_id = active.account_id AND kind = 'cost' AND retired_at IS NULL
    ) AS live ON true LEFT JOIN insights_anomalyrun AS run ON run.account_id = active.account_id
    LEFT JOIN alerts_alertevaluation AS done ON done.account_id = active.account_id
) AS due
WHERE seen IS DISTINCT FROM version AND (coalesce(error, '') = '' OR finished_at < %(retry)s)
ORDER BY account_id
"""

_FIRE: Final = """
INSERT INTO alerts_alertfiring (account_id, subscription_id, key, message, fired_at)
SELECT %s, %s, key, '{}', %s FROM unnest(%s::text[]) AS key
ON CONFLICT (subscription_id, key) DO NOTHING RETURNING id, key
"""


def due_accounts() -> list[int]:
    """Return accounts with subscriptions whose cost, anomalies, budgets or subscriptions changed since their
    evaluation, or for which a new hour started. One statement over all accounts."""
    return [due.account_id for due in _due("")]


def evaluate_if_due(account: Account) -> bool:
    """Evaluate an account; False if it is not due, or another worker evaluates it. Errors are retried ten minutes
    later."""
    with advisory_lock(f"alerts {account.pk}") as has_lock:
        due = _due("AND account_id = %(account)s", account.pk) if has_lock else []
        if not due:
            return False
        _deliveries, error = _evaluate_all(account)
        with account_scope(account):
            AlertEvaluation.objects.update_or_create(
                account=account,
                defaults={
                    "version": "" if error else due[0].version,
                    "finished_at": clock.now(),
                    "error": error,
                },
            )
    return True


def evaluate(account: Account) -> list[AlertDelivery]:
    """Evaluate every active subscription against the account's current data, and send what has not fired.

    Safe to call at any time and concurrently. Raises UserError for errors of the lake, after sending everything else
    due. Cost: the lake queries of `budget_statuses` for the budgets with subscriptions, none for anomalies.
    """
    deliveries, error = _evaluate_all(account)
    if error:
        raise UserError(error)
    return deliveries


def _evaluate_all(account: Account) -> tuple[list[AlertDelivery], str]:
    """Return the deliveries and the errors. Triggers without lake queries come first."""
    deliveries: list[AlertDelivery] = []
    errors: list[str] = []
    with account_scope(account), account_display(account):
        evaluation = Evaluation(account, time.monotonic() + DEADLINE)
        parts = (
            evaluation.anomalies,
            evaluation.imports,
            evaluation.late_sources,
            evaluation.budgets,
            evaluation.digests,
            evaluation.view_reports,
            evaluation.view_changes,
            evaluation.unit_costs,
        )
        for part in parts:
            try:
                candidates: Sequence[AlertCandidate] = part()
            except UserError as error:
                errors.append(error.message)
                continue
            deliveries += [delivery for each in candidates if (delivery := _fire(each)) is not None]
        events = EventEvaluation(evaluation)
        deliveries += [each for row in events.candidates() if (each := emit(row)) is not None]
    return deliveries, " ".join(dict.fromkeys([*errors, *evaluation.errors, *events.errors]))


@transaction.atomic
def _fire(candidate: AlertCandidate) -> AlertDelivery | None:
    """Send one message about the keys that have not fired; None if all have, or if the subscription was paused,
    changed or deleted meanwhile. Concurrent calls wait for each other, and the second finds the keys fired."""
    snapshot = candidate.subscription
    hold_channel(snapshot.channel_id)
    rows = AlertSubscription.objects.select_for_update(of=("self",), no_key=True).filter(
        pk=snapshot.pk,
        channel=snapshot.channel_id,
        paused_at=None,
        fingerprint=snapshot.fingerprint,
        minimum_impact=snapshot.minimum_impact,
        minimum_percent=snapshot.minimum_percent,
        target=snapshot.target,
    )
    subscription = rows.select_related("account", "channel").first()
    if subscription is None or not sending_subscriptions(subscription.account, [subscription]):
        return None
    new = _insert_firings(subscription, candidate.keys)
    if not new:
        return None
    firing = AlertFiring.objects.get(pk=new[[key for key in candidate.keys if key in new][-1]])
    delivery = deliver(
        account=subscription.account,
        channel=subscription.channel,
        message=candidate.build_message(new.keys()),
        firing=firing,
    )
    AlertFiring.objects.filter(pk__in=new.values()).update(message=delivery.message)
    _notify(subscription, delivery, new)
    return delivery


def _notify(subscription: AlertSubscription, delivery: AlertDelivery, keys: Iterable[str]) -> None:
    """Notify in the console, once for all channels that get the same message."""
    account, message = subscription.account, delivery.message
    title = message["title"].removeprefix(f"{quote(account.name)}: ")
    notify(
        account=account,
        kind=Notification.Kind.ALERT,
        severity=Notification.Severity(message["severity"]),
        title=title[:1].upper() + title[1:],
        text=message["summary"],
        currency=currencies_in(message.get("data")),
        path=urlsplit(message["url"])._replace(scheme="", netloc="").geturl(),
        key="/".join([subscription.trigger, message["title"], *sorted(keys)]),
    )


def _insert_firings(subscription: AlertSubscription, keys: Sequence[str]) -> dict[str, int]:
    """Insert the missing firings of these keys and return their ids by key."""
    with connection.cursor() as cursor:
        cursor.execute(_FIRE, [subscription.account_id, subscription.pk, clock.now(), list(keys)])
        return {key: firing for firing, key in cursor.fetchall()}


@dataclass(frozen=True)
class _Due:
    """An account to evaluate, and the version of its current data."""

    account_id: int
    version: str


def _due(which: str, account_id: int | None = None) -> list[_Due]:
    now = clock.now()
    params: dict[str, str | datetime | int | None] = {
        "evaluator": EVALUATOR,
        "hour": f"{now:%Y-%m-%dT%H}",
        "retry": now - RETRY,
        "now": now,
        "account": account_id,
    }
    with connection.cursor() as cursor:
        cursor.execute(_DUE.format(which=which, failures=FAILURES_BEFORE_ALERT), params)
        return [_Due(*row) for row in cursor.fetchall()]
