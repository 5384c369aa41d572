"""The lifecycle of an event subscription: verified, created or refreshed, ended by client, credential, callback or
time."""

from __future__ import annotations

import hashlib
import logging
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

import msgspec
from django.db import transaction
from django.db.models import Q

from accounts.credentials import Credential, CredentialKind
from accounts.scoping import account_scope, lock_account
from finops.alerts.channel_targets import WebhookTarget
from finops.alerts.events.credentials import GONE, with_dead_credential
from finops.alerts.events.event_types import Arguments
from finops.alerts.events.targets import check_secret, is_sealed_now, seal_target, target_of
from finops.alerts.models import EventFiring, EventSubscription
from finops.alerts.senders import event as sender
from finops.alerts.services.event_ends import end_deliveries, end_subscription, record
from finops.alerts.services.subscriptions import EVALUATE_TASK
from finops.lib import clock, outbound
from finops.lib.errors import UserError
from finops.lib.ratelimit import rate_limiter
from finops.lib.sealing import Unsealable
from finops.worker.broker import publish

logger = logging.getLogger(__name__)

MAX_OF_CREDENTIAL: Final = 50
MAX_OF_ACCOUNT: Final = 200
MAX_VERIFICATIONS: Final = 60
"""The maximum per minute to one host: subscribers choose the host, so none may be flooded."""

SHORTEST: Final = timedelta(minutes=10)
LONGEST: Final = timedelta(hours=24)
BOTH_SIGN_FOR: Final = timedelta(minutes=5)
VERIFIED_FOR: Final = timedelta(hours=24)
KEPT_AFTER_END: Final = timedelta(days=1)
"""The time that an ended subscription is kept, so that the message about its end can be retried."""
IMPORTS_KEPT: Final = timedelta(days=30)


class EventLimit(UserError):
    """The maximum of `most` of `what` is reached."""

    def __init__(self, what: str, most: int) -> None:
        super().__init__(f"The maximum of {what} is {most}. End one, or wait.")
        self.what, self.most = what, most


def subscribe(
    *,
    credential: Credential,
    event: str,
    arguments: Arguments,
    url: str,
    secret: str,
    lifetime: timedelta | None = None,
    follows_extension: bool = False,
) -> EventSubscription:
    """Create or refresh the subscription of a credential, callback, event and arguments, with this secret and end.
    `lifetime` is the client's suggestion, limited to SHORTEST and LONGEST.

    Sends the callback a challenge first: up to 15 s, without an open transaction. Raises UserError for a callback or
    secret that is not allowed, EventLimit, and CallbackProblem.
    """
    account = credential.account
    check_secret(secret)
    outbound.check_url(url, field="delivery.url")
    target = WebhookTarget(url=url, signing_secret=secret)
    public_id = public_id_of(credential, event, arguments, url)
    with account_scope(account):
        row = _living(public_id)
        if row is None:
            _check_limits(credential)
        is_verified = row is not None and _is_verified(row, secret)
    if not is_verified:
        _check_rate(url)
        sender.verify(target, public_id=public_id)
    return _store(
        credential=credential,
        event=event,
        arguments=arguments,
        target=target,
        public_id=public_id,
        expires_at=clock.now() + min(max(lifetime or LONGEST, SHORTEST), LONGEST),
        is_verified=not is_verified,
        follows_extension=follows_extension,
    )


@transaction.atomic
def unsubscribe(*, credential: Credential, event: str, arguments: Arguments, url: str) -> bool:
    """End the credential's subscription at once, and return whether there was one. The callback gets no message."""
    public_id = public_id_of(credential, event, arguments, url)
    with account_scope(credential.account):
        row = EventSubscription.objects.select_for_update(of=("self",)).filter(public_id=public_id).first()
        if row is None:
            return False
        end_deliveries(row, "The client unsubscribed.")
        record(row, credential.actor, "delete", {})
        was_living = row.ended_at is None and row.expires_at > clock.now()
        row.delete()
    return was_living


def public_id_of(credential: Credential, event: str, arguments: Arguments, url: str) -> str:
    """Return the public id, a function of these four values as in SEP-3415: equal subscriptions have equal ids."""
    whole = [
        credential.kind,
        credential.id,
        credential.account.pk,
        url,
        event,
        msgspec.to_builtins(arguments),
    ]
    digest = hashlib.sha256(msgspec.json.encode(whole, order="deterministic")).hexdigest()
    return f"sub_{digest[:32]}"


def end_dead() -> int:
    """End subscriptions with an invalid credential, over all accounts, and return their number."""
    # Unscoped: a sweep over all accounts.
    living = EventSubscription.objects.unscoped().filter(ended_at=None, expires_at__gt=clock.now())
    rows = list(with_dead_credential(living).select_related("account"))
    for row in rows:
        end_subscription(subscription=row, reason=GONE)
    return len(rows)


def sweep_events() -> int:
    """Delete subscriptions that ended a day ago, and seal the others with the current key. Returns the number
    deleted."""
    before = clock.now() - KEPT_AFTER_END
    # Unscoped: a sweep over all accounts.
    old = EventSubscription.objects.unscoped().filter(Q(expires_at__lt=before) | Q(ended_at__lt=before))
    removed: int = old.delete()[1].get(EventSubscription._meta.label, 0)
    imports = EventFiring.objects.unscoped().filter(
        key__startswith="import:", fired_at__lt=clock.now() - IMPORTS_KEPT
    )
    imports.delete()
    for row in EventSubscription.objects.unscoped():
        if not is_sealed_now(row):
            _reseal(row.pk)
    return removed


@transaction.atomic
def _store(
    *,
    credential: Credential,
    event: str,
    arguments: Arguments,
    target: WebhookTarget,
    public_id: str,
    expires_at: datetime,
    is_verified: bool,
    follows_extension: bool,
) -> EventSubscription:
    account, now = credential.account, clock.now()
    with account_scope(account):
        lock_account(account)
        row = _living(public_id)
        if row is None:
            _check_limits(credential)
            EventSubscription.objects.filter(public_id=public_id).delete()
            is_key = credential.kind is CredentialKind.MCP_KEY
            row = EventSubscription(
                account=account,
                public_id=public_id,
                event=event,
                arguments=msgspec.to_builtins(arguments),
                mcp_key_id=credential.id if is_key else None,
                connection_id=None if is_key else credential.id,
                credential_label=credential.label[:254],
                verified_at=now,
                created_at=now,
            )
            is_new = True
        else:
            target, is_new = _with_previous_secret(row, target), False
        row.target, row.shown_target = seal_target(target, account.pk), target.shown
        row.expires_at, row.follows_extension = expires_at, follows_extension
        row.verified_at = now if is_verified else row.verified_at
        row.full_clean(validate_unique=False)
        row.save()
        if is_new:
            record(row, credential.actor, "create", {"callback": row.shown_target})
            transaction.on_commit(lambda: publish(EVALUATE_TASK, account.pk, expires=300))
    return row


def _with_previous_secret(row: EventSubscription, target: WebhookTarget) -> WebhookTarget:
    """Return the secret with the previous one: both sign for a while, so that recent signatures stay valid."""
    try:
        before = target_of(row)
    except Unsealable:
        return target
    if before.signing_secret == target.signing_secret:
        return before
    return msgspec.structs.replace(
        target, previous_secret=before.signing_secret, previous_until=clock.now() + BOTH_SIGN_FOR
    )


def _is_verified(row: EventSubscription, secret: str) -> bool:
    try:
        is_same = target_of(row).signing_secret == secret
    except Unsealable:
        return False
    return is_same and row.verified_at > clock.now() - VERIFIED_FOR


def _living(public_id: str) -> EventSubscription | None:
    rows = EventSubscription.objects.select_related("account")
    return rows.filter(public_id=public_id, ended_at=None, expires_at__gt=clock.now()).first()


def _check_limits(credential: Credential) -> None:
    living = EventSubscription.objects.filter(ended_at=None, expires_at__gt=clock.now())
    field = "mcp_key" if credential.kind is CredentialKind.MCP_KEY else "connection"
    if living.filter(**{field: credential.id}).count() >= MAX_OF_CREDENTIAL:
        raise EventLimit("subscriptions", MAX_OF_CREDENTIAL)
    if living.count() >= MAX_OF_ACCOUNT:
        raise EventLimit("subscriptions", MAX_OF_ACCOUNT)


def _check_rate(url: str) -> None:
    hit = rate_limiter().hit(f"event-callback:{urlsplit(url).hostname}", limit=MAX_VERIFICATIONS)
    if not hit.is_allowed:
        raise EventLimit("verifications_per_minute", MAX_VERIFICATIONS)


@transaction.atomic
def _reseal(pk: int) -> None:
    row = EventSubscription.objects.unscoped().select_for_update().filter(pk=pk).first()
    if row is None:
        return
    try:
        row.target = seal_target(target_of(row), row.account_id)
    except Unsealable:
        logger.warning("alerts: the target of event subscription %s cannot be read any more", pk)
        return
    row.save(update_fields=["target"])
