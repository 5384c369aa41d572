"""Create, change, test and delete channels."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import msgspec
from django.conf import settings
from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope, existing, lock_account
from finops.alerts.channel_targets import (
    EmailTarget,
    Kind,
    Target,
    WebhookTarget,
    new_signing_secret,
    read_target,
    seal_target,
    target_of,
)
from finops.alerts.messages import Fact, Message, message_fields
from finops.alerts.models import AlertChannel, AlertDelivery
from finops.alerts.recipients import count_test_mails, recipients, request_confirmations
from finops.alerts.services.deliveries import carry_out
from finops.alerts.services.delivery_rows import Status, end, open_attempt
from finops.costs import dependants
from finops.lib import clock
from finops.lib.errors import UserError, unknown_value
from finops.lib.fixed_window import seconds_to_wait
from finops.lib.sealing import Unsealable

MAX_CHANNELS: Final = 50
TESTS_A_MINUTE: Final = 10
BOTH_SIGN_FOR: Final = timedelta(hours=24)


def create_channel(
    *, account: Account, actor: Actor, name: str, kind: str, target: Mapping[str, object]
) -> tuple[AlertChannel, str]:
    """Create a channel. Returns it with the signing secret (`whsec_…`) of a webhook, shown only once; "" for other
    kinds.

    `target` by kind: slack and microsoft_teams {url}; email {addresses: list, or text with commas or lines};
    pagerduty {routing_key, url: omitted or "" for PagerDuty's own}; webhook {url, headers: lines such as
    `Authorization: Bearer abc`, template: a JSON body with placeholders}. Raises UserError with the target's
    field for a target that is malformed or leads into a private network (looked up in DNS: seconds), a name that is
    taken, an account at its maximum; ValidationError for a name that is empty or too long.
    """
    if kind not in Kind.values:
        raise unknown_value("kind", kind, Kind.values, show=str)
    checked_target = read_target(kind, target)
    with transaction.atomic(), account_scope(account):
        lock_account(account)
        _check_cap()
        channel = AlertChannel(
            account=account, kind=kind, created_by_id=actor.creator_id, created_at=clock.now()
        )
        _fill(channel, name, checked_target)
        channel.save(force_insert=True)
        _record(channel, actor, "create", {"kind": kind, "target": channel.shown_target})
        _request_confirmations(account, checked_target)
    return channel, checked_target.signing_secret if isinstance(checked_target, WebhookTarget) else ""


def change_channel(
    *, channel: AlertChannel, actor: Actor, name: str, target: Mapping[str, object] | None = None
) -> AlertChannel:
    """Rename a channel, and replace its target if one is given; a webhook keeps its signing secret. Raises as
    `create_channel` does."""
    account = channel.account
    checked_target = None if target is None else read_target(channel.kind, target)
    with transaction.atomic(), account_scope(account):
        lock_account(account)
        row = _row(channel)
        before = {"name": row.name, "target": row.shown_target}
        _fill(row, name, _with_secrets_of(row, checked_target))
        row.save()
        _record(row, actor, "change", {"from": before, "to": {"name": row.name, "target": row.shown_target}})
        _request_confirmations(account, checked_target)
    return row


@transaction.atomic
def delete_channel(*, channel: AlertChannel, actor: Actor) -> None:
    """Delete a channel with its subscriptions. Past deliveries stay in the list; waiting ones are not sent."""
    account = channel.account
    with account_scope(account):
        lock_account(account)
        row = _row(channel)
        waiting = AlertDelivery.objects.select_for_update().filter(channel=row, status=Status.WAITING)
        for delivery in waiting:
            end(delivery, "The channel was deleted.")
        detail = {
            "kind": row.kind,
            "target": row.shown_target,
            **dependants.audit_detail(row),
            "waiting_deliveries": len(waiting),
        }
        _record(row, actor, "delete", detail)
        row.delete()


def test_channel(*, channel: AlertChannel, actor: Actor) -> AlertDelivery:
    """Send a test message now, once, within 10 s. The delivery's status and attempt have the outcome.

    A test email goes only to allowed addresses (finops.alerts.recipients). Raises UserError where there is none, and
    when the account's channels, or any by the same person, were tested ten times within a minute. Call outside a
    transaction.
    """
    account = channel.account
    limit_keys = [f"account {account.pk}", *([f"user {actor.user.pk}"] if actor.user else [])]
    if any(seconds_to_wait("alert tests", key, limit=TESTS_A_MINUTE) for key in limit_keys):
        raise UserError(f"{TESTS_A_MINUTE} channel tests within a minute. Wait a minute and try again.")
    if isinstance(target := _readable_target(channel), EmailTarget):
        count_test_mails(account, target.addresses)
    with account_scope(account):
        delivery = carry_out(_test_delivery(account, channel, actor))
        if delivery is None:
            raise UserError("The channel was deleted while the test message was being sent.")
    return delivery


def regenerate_signing_secret(*, channel: AlertChannel, actor: Actor) -> str:
    """Replace the signing secret of a webhook and return the new one, shown only once. The old one signs as well for
    24 hours, so that a receiver can switch in between. Raises UserError for a channel of another kind."""
    account = channel.account
    with transaction.atomic(), account_scope(account):
        row = _row(channel)
        target = target_of(row)
        if not isinstance(target, WebhookTarget):
            raise UserError("Only a signed webhook has a signing secret.")
        changed = msgspec.structs.replace(
            target,
            signing_secret=new_signing_secret(),
            previous_secret=target.signing_secret,
            previous_until=clock.now() + BOTH_SIGN_FOR,
        )
        row.target, row.changed_at = seal_target(changed, account.pk), clock.now()
        row.save(update_fields=["target", "changed_at"])
        _record(row, actor, "regenerate_secret", {"old_signs_until": str(changed.previous_until)})
    return changed.signing_secret


@transaction.atomic
def _test_delivery(account: Account, channel: AlertChannel, actor: Actor) -> AlertDelivery:
    """Create the delivery as claimed, so that no worker takes it."""
    row = _row(channel)
    delivery = AlertDelivery(
        account=account,
        channel=row,
        channel_name=row.name,
        channel_kind=row.kind,
        is_test=True,
        message=message_fields(_test_message(account, row, actor)),
        created_at=clock.now(),
    )
    open_attempt(delivery)
    delivery.save(force_insert=True)
    _record(row, actor, "test", {"delivery": delivery.pk})
    return delivery


def _test_message(account: Account, channel: AlertChannel, actor: Actor) -> Message:
    return Message(
        title="Test message of an alert channel",  # a mail's subject: nothing that people wrote
        summary=f"This is a test. Alerts of {account.name} in this channel will look like this.",
        facts=(
            Fact("Channel", channel.name),
            Fact("Account", account.name),
            Fact("Requested by", actor.label),
        ),
        url=f"{settings.PUBLIC_URL}/a/{account.slug}/alerts/",
        kind="test",
        dedup_key=f"finops:{account.slug}:test:{channel.pk}",
        data={"channel_id": channel.pk},
    )


def _request_confirmations(account: Account, target: Target | None) -> None:
    if isinstance(target, EmailTarget):
        request_confirmations(account=account, addresses=recipients(account, target.addresses).waiting)


def _row(channel: AlertChannel) -> AlertChannel:
    return existing(AlertChannel.objects.select_for_update(of=("self",)), channel, "channel")


def _check_cap() -> None:
    count = AlertChannel.objects.count()
    if count >= MAX_CHANNELS:
        raise UserError(
            f"The account has {count} alert channels; the maximum is {MAX_CHANNELS}. Delete a channel first."
        )


def _check_name(channel: AlertChannel) -> None:
    existing = AlertChannel.objects.filter(name__iexact=channel.name).exclude(pk=channel.pk).first()
    if existing is not None:
        raise UserError(
            f"name: alert channel {existing.name!r} already exists with id {existing.pk}. Choose "
            "another name, or edit that one.",
            field="name",
            value=channel.name[:100],
        )


def _fill(channel: AlertChannel, name: str, target: Target | None) -> None:
    channel.name = " ".join(name.split())
    _check_name(channel)
    if target is not None:
        channel.target, channel.shown_target = seal_target(target, channel.account_id), target.shown[:300]
    channel.changed_at = clock.now()
    channel.full_clean(exclude=["account"])


def _readable_target(channel: AlertChannel) -> Target | None:
    try:
        return target_of(channel)
    except Unsealable:
        return None  # the attempt says so


def _with_secrets_of(row: AlertChannel, target: Target | None) -> Target | None:
    """Copy the signing secrets to a webhook's new target, unless they can no longer be read."""
    if not isinstance(target, WebhookTarget):
        return target
    try:
        before = target_of(row)
    except Unsealable:
        return target
    return msgspec.structs.replace(before, url=target.url, headers=target.headers, template=target.template)


def _record(channel: AlertChannel, actor: Actor, verb: str, detail: dict[str, object]) -> None:
    audit.record(
        account=channel.account,
        actor=actor,
        action=f"alert_channel.{verb}",
        target=channel.name,
        detail={"id": channel.pk, **detail},
    )
