"""Queries on people's sign-ins."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest

from accounts.models import Account, Membership, SecurityEvent, Session, User
from accounts.security.clients import client_name
from accounts.security.mfa import has_second_factor
from accounts.security.services import current_key
from finops.lib import clock
from finops.lib.client_address import network_of

KNOWN_FOR = timedelta(days=90)
SHOWN_SESSIONS = 200
Member = Any
"""A Membership with `has_second_factor`."""


@dataclasses.dataclass(frozen=True)
class OpenSession:
    """A session of a person. `key` identifies it and cannot be used to sign in."""

    key: str
    client: str
    address: str
    created_at: datetime
    last_seen_at: datetime
    is_current: bool


def open_sessions(user: User, request: HttpRequest) -> list[OpenSession]:
    """The person's sessions, this browser first, then by last use. One query."""
    current = current_key(request)
    rows = Session.objects.filter(user=user, expire_date__gt=clock.now()).order_by("-last_seen_at", "-pk")
    sessions = [
        OpenSession(
            key=row.session_key,
            client=client_name(row.client),
            address=row.address,
            created_at=row.created_at,
            last_seen_at=row.last_seen_at,
            is_current=row.session_key == current,
        )
        for row in rows.defer("session_data")[:SHOWN_SESSIONS]
    ]
    return sorted(sessions, key=lambda each: not each.is_current)


def is_new_client(event: SecurityEvent) -> bool:
    """Whether a sign-in is the person's first from this network with this browser in 90 days, and not their first at all."""
    before = SecurityEvent.objects.filter(
        user=event.user, kind=SecurityEvent.Kind.SIGN_IN, at__gt=event.at - KNOWN_FOR
    ).exclude(pk=event.pk)
    known_clients = {
        (network_of(address), client_name(client))
        for address, client in before.values_list("address", "client").distinct()
    }
    return bool(known_clients) and (network_of(event.address), client_name(event.client)) not in known_clients


def members_with_factors(account: Account) -> list[Member]:
    """All members, each with whether they have a second factor of their own. One query."""
    members = Membership.objects.filter(account=account).select_related("user")
    return list(members.annotate(has_second_factor=has_second_factor("user_id")))


def members_without_second_factor(account: Account) -> list[Member]:
    """Members without a second factor, by email. One query."""
    members = [member for member in members_with_factors(account) if not member.has_second_factor]
    return sorted(members, key=lambda member: member.user.email)
