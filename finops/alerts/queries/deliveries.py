"""Deliveries and their attempts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec
from django.db.models import Q, QuerySet

from accounts.models import Account
from finops.alerts.messages import Fact, Message, currencies_in
from finops.alerts.models import AlertDelivery
from finops.alerts.schemas import DeliveriesQuery
from finops.lib.cursors import foreign_cursor_error, key_cursor, key_of


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt to send. `seconds` is None while it runs. `status_code` is the HTTP status, None without one.
    `is_partial`: addresses of the channel were left out, which `answer` names."""

    at: datetime
    seconds: float | None
    status_code: int | None
    answer: str
    is_partial: bool = False


class DeliveryRow(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    channel_id: int | None
    channel_name: str
    channel_kind: str
    channel_kind_label: str
    kind: str
    severity: str
    title: str
    summary: str
    currency: str
    facts: tuple[Fact, ...]
    url: str
    status: str
    is_test: bool
    resend_of: int | None
    subscription_id: int | None
    attempts: tuple[Attempt, ...]
    next_attempt_at: datetime | None
    delivered_at: datetime | None
    created_at: datetime

    @property
    def last_attempt(self) -> Attempt | None:
        return self.attempts[-1] if self.attempts else None

    @property
    def is_partial(self) -> bool:
        """Whether the message reached only some addresses of its channel."""
        return self.status == AlertDelivery.Status.DELIVERED and self.attempts[-1].is_partial


class DeliveriesPage(msgspec.Struct, frozen=True, kw_only=True):
    deliveries: list[DeliveryRow]
    total: int
    cursor: str


def deliveries(account: Account, query: DeliveriesQuery) -> DeliveriesPage:
    """Return a page of deliveries, newest first, and the total number. Two queries. `channel` is an id."""
    matches = _filtered_deliveries(account, query)
    question = (sorted(query.statuses), query.channel, query.include_tests)
    after = _after(key_of(query.cursor, *question), query.cursor)
    rows = list(_with_firing(matches.filter(after))[: query.limit + 1])
    page = rows[: query.limit]
    more = len(rows) > query.limit
    return DeliveriesPage(
        deliveries=[delivery_row(each) for each in page],
        total=matches.count(),
        cursor=key_cursor((page[-1].created_at.isoformat(), str(page[-1].pk)), *question) if more else "",
    )


def every_delivery(account: Account, *, limit: int = 5_000) -> list[DeliveryRow]:
    """Return the newest deliveries, for the page that sorts, searches and exports. One query."""
    rows = _with_firing(AlertDelivery.objects.filter(account=account))
    return [delivery_row(each) for each in rows[:limit]]


def delivery_row(delivery: AlertDelivery) -> DeliveryRow:
    message = msgspec.convert(delivery.message, Message)
    return DeliveryRow(
        id=delivery.pk,
        channel_id=delivery.channel_id,
        channel_name=delivery.channel_name,
        channel_kind=delivery.channel_kind,
        channel_kind_label=delivery.get_channel_kind_display(),
        kind=message.kind,
        severity=message.severity,
        title=message.title,
        summary=message.summary,
        currency=currencies_in(message.data),
        facts=message.facts,
        url=message.url,
        status=delivery.status,
        is_test=delivery.is_test,
        resend_of=delivery.resend_of_id,
        subscription_id=delivery.firing.subscription_id if delivery.firing else None,
        attempts=attempts_of(delivery.attempts),
        next_attempt_at=delivery.next_attempt_at,
        delivered_at=delivery.delivered_at,
        created_at=delivery.created_at,
    )


def attempts_of(stored_attempts: Sequence[object]) -> tuple[Attempt, ...]:
    return msgspec.convert(stored_attempts, tuple[Attempt, ...])


def _filtered_deliveries(account: Account, query: DeliveriesQuery) -> QuerySet[AlertDelivery]:
    rows = AlertDelivery.objects.filter(account=account)
    if query.statuses:
        rows = rows.filter(status__in=query.statuses)
    if query.channel is not None:
        rows = rows.filter(channel_id=int(query.channel))
    return rows if query.include_tests else rows.filter(is_test=False)


def _with_firing(rows: QuerySet[AlertDelivery]) -> QuerySet[AlertDelivery]:
    return rows.select_related("firing").order_by("-created_at", "-id")


def _after(key: tuple[str, ...], cursor: str) -> Q:
    if not key:
        return Q()
    try:
        moment, number = datetime.fromisoformat(key[0]), int(key[1])
    except (ValueError, IndexError) as error:
        raise foreign_cursor_error(cursor) from error
    return Q(created_at__lt=moment) | Q(created_at=moment, pk__lt=number)
