"""The answers about channels, subscriptions and deliveries, for assistants."""

from __future__ import annotations

import msgspec

from accounts.models import Account
from finops.alerts.models import AlertChannel, AlertDelivery
from finops.alerts.queries.channels import ChannelRow, channels
from finops.alerts.queries.deliveries import DeliveryRow, deliveries
from finops.alerts.queries.subscriptions import SubscriptionRow, alert_subscriptions, one_subscription
from finops.alerts.recipients import channel_recipients
from finops.alerts.schemas import (
    AlertChannelsAnswer,
    AlertDeliveriesAnswer,
    AlertSubscriptionAnswer,
    AlertSubscriptionsAnswer,
    ChannelLine,
    DeliveriesQuery,
    DeliveryLine,
    SubscriptionLine,
    SubscriptionsQuery,
)
from finops.budgets.models import Budget
from finops.budgets.queries.statuses import budgets_of
from finops.budgets.scopes import Reference, find_row
from finops.lib.answers import AccountRef
from finops.lib.cursors import next_cursor, offset_of
from finops.lib.sentences import join_with_and, quote, truncate

MAX_NAME = 60
MAX_ANSWER = 160


def find_channel(reference: Reference) -> int | None:
    """Return the id of a channel given by name or id; None without one. One query, none for None. Raises UserError for
    an unknown one."""
    return find_row("channel", reference, AlertChannel.objects, "name")


def find_budget(account: Account, reference: Reference) -> int | None:
    """Return the id of a budget that the reader sees, given by name or id; None without one. Two queries, none for
    None. Raises UserError for an unknown one."""
    if reference is None:
        return None
    visible = Budget.objects.filter(pk__in=[each.pk for each in budgets_of(account)])
    return find_row("budget", reference, visible, "name")


def list_alert_channels(
    account: Account, *, search: str = "", limit: int = 50, cursor: str = ""
) -> AlertChannelsAnswer:
    """Return the account's channels by name, page by page. One query."""
    offset = offset_of(cursor, "channels", search)
    every = channels(account)
    matches = [each for each in every if search.strip().casefold() in each.name.casefold()]
    page = matches[offset : offset + limit]
    next_offset = offset + len(page)
    remaining = len(matches) - next_offset
    match_note = "" if len(matches) == len(every) else f"; {len(matches)} requested"
    return AlertChannelsAnswer(
        account=_account(account),
        summary=f"{quote(account.name)} has {_count_text(len(every), 'alert channel')}{match_note}.",
        channels=[_channel(each) for each in page],
        cursor=next_cursor(next_offset, "channels", search) if remaining else "",
        truncated=f"{remaining} more channels. Use cursor for the next page." if remaining else "",
        warnings=[],
        hint=(
            "Use create_alert_subscription to send alerts to a channel."
            if every
            else "A member creates channels on the Alerts page; no tool can."
        ),
    )


def list_alert_subscriptions(account: Account, query: SubscriptionsQuery) -> AlertSubscriptionsAnswer:
    """Return the subscriptions, newest first, page by page. Queries and errors as `alert_subscriptions`."""
    page = alert_subscriptions(account, query)
    paused_count = sum(each.paused for each in page.subscriptions)
    noun = _count_text(page.total, "alert subscription")
    filter_note = " of the requested ones" if query.triggers or query.channel or query.budget else ""
    return AlertSubscriptionsAnswer(
        account=_account(account),
        summary=f"{quote(account.name)} has {noun}{filter_note}{f'; {paused_count} of those listed paused' if paused_count else ''}.",
        subscriptions=[_subscription(each) for each in page.subscriptions],
        cursor=page.cursor,
        truncated="More subscriptions. Use cursor for the next page." if page.cursor else "",
        warnings=[f"Subscription {each.id}: {each.warning}" for each in page.subscriptions if each.warning],
        hint="Use listAlertDeliveries for sent alerts, create_alert_subscription to add one.",
    )


def new_subscription_answer(
    account: Account, subscription_id: int, notes: tuple[str, ...]
) -> AlertSubscriptionAnswer:
    """Return the answer for a new subscription, in the form of the list. `notes` say what else was changed for it."""
    row = one_subscription(account, subscription_id)
    return AlertSubscriptionAnswer(
        account=_account(account),
        summary=(
            f"Created alert subscription {row.id}: "
            f"{truncate(row.quoted_text, 300)}{_recipient_clause(account, row.channel_id)}{_warning_clause(row)}."
        ),
        subscription=_subscription(row),
        warnings=[*notes, *([row.warning] if row.warning else [])],
        hint="Edit, pause or delete it on its page. Use listAlertDeliveries for sent alerts.",
    )


def list_alert_deliveries(account: Account, query: DeliveriesQuery) -> AlertDeliveriesAnswer:
    """Return the deliveries, newest first, page by page. Two queries."""
    page = deliveries(account, query)
    return AlertDeliveriesAnswer(
        account=_account(account),
        summary=_deliveries_summary(account, query, page.total, page.deliveries),
        deliveries=[_delivery(each) for each in page.deliveries],
        cursor=page.cursor,
        truncated="Older deliveries: use cursor, or filter by statuses." if page.cursor else "",
        warnings=[],
        hint="A delivery's page shows all attempts; members can resend it there.",
    )


def _account(account: Account) -> AccountRef:
    return AccountRef(slug=account.slug, name=account.name)


def _warning_clause(row: SubscriptionRow) -> str:
    """Return a clause on why a new subscription sends nothing; empty without a reason."""
    return f"; it sends nothing: {row.warning[0].lower()}{row.warning[1:].rstrip('.')}" if row.warning else ""


def _recipient_clause(account: Account, channel_id: int) -> str:
    """`; nothing is mailed to 'a@example.com' until …`."""
    channel = AlertChannel.objects.select_related("account").get(account=account, pk=channel_id)
    status = channel_recipients(channel)
    notice = status.notice if status else ""
    return f"; {truncate(notice[0].lower() + notice[1:-1], 400)}" if notice else ""


def _count_text(count: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count or 'no'} {noun if count == 1 else plural}"


def _channel(row: ChannelRow) -> ChannelLine:
    return ChannelLine(
        id=row.id,
        name=row.name,
        kind=row.kind,
        target=row.shown_target,
        tested_at=row.tested_at,
        subscriptions=row.subscriptions,
    )


def _subscription(row: SubscriptionRow) -> SubscriptionLine:
    about = truncate(row.quoted_text, 4 * MAX_NAME)
    scope_name = truncate(row.scope_name, MAX_NAME) if row.scope not in ("", "account") else ""
    line = msgspec.convert(row, SubscriptionLine, from_attributes=True)
    return msgspec.structs.replace(line, about=about, scope_name=scope_name)


def _delivery(row: DeliveryRow) -> DeliveryLine:
    last = row.last_attempt
    return DeliveryLine(
        id=row.id,
        created_at=row.created_at,
        channel_name=row.channel_name,
        kind=row.kind,
        title=truncate(row.title, 2 * MAX_NAME),
        currency=row.currency,
        status=row.status,
        attempts=len(row.attempts),
        channel_id=row.channel_id,
        subscription_id=row.subscription_id,
        status_code=last.status_code if last else None,
        answer=truncate(last.answer, MAX_ANSWER) if last else "",
        delivered_at=row.delivered_at,
        next_attempt_at=row.next_attempt_at,
        resend_of=row.resend_of,
        is_test=row.is_test,
    )


def _deliveries_summary(account: Account, query: DeliveriesQuery, total: int, page: list[DeliveryRow]) -> str:
    is_filtered = bool(query.statuses or query.channel is not None or not query.include_tests)
    deliveries_text = f"{_count_text(total, 'alert delivery')}{' of those asked for' if is_filtered else ''}"
    states = [
        (label, sum(each.status == value and not each.is_partial for each in page))
        for value, label in AlertDelivery.Status.choices
    ]
    states.append(("partly delivered", sum(each.is_partial for each in page)))
    parts = join_with_and([f"{count} {label.lower()}" for label, count in states if count])
    return f"{quote(account.name)} has {deliveries_text}" + (
        f"; of the {len(page)} listed: {parts}." if page else "."
    )
