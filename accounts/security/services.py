"""Writes on people's sign-ins: the security log, ended sessions, and the removal of old rows."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Final

from django.db import connection, transaction
from django.http import HttpRequest

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account, SecurityEvent, Session, User
from accounts.security.clients import client_name
from accounts.security.known_devices import forget_devices, remember_device
from accounts.security.mfa import has_second_factor, seal_under_the_current_key
from finops.lib import clock
from finops.lib.client_address import client_address
from finops.lib.errors import UserError

RETENTION: Final = timedelta(days=400)
_BY_A_STRANGER: Final = {SecurityEvent.Kind.FAIL_SIGN_IN, SecurityEvent.Kind.FAIL_SECOND_FACTOR}
_POLICY: Final = (
    "second_factor_required",
    "second_factor_grace_days",
    "session_max_hours",
    "session_idle_minutes",
)
_AUDIT: Final = """
    INSERT INTO accounts_auditentry (account_id, actor_user_id, actor_label, action, target, detail, at)
    SELECT account_id, %(actor)s, %(label)s, %(action)s, %(email)s, %(detail)s::jsonb, %(at)s
    FROM accounts_membership WHERE user_id = %(user)s
"""


@transaction.atomic
def record(
    *, user: User | None, kind: SecurityEvent.Kind, request: HttpRequest, detail: str = ""
) -> SecurityEvent:
    """Add an entry to the person's security log and one to the audit log of each of their accounts. Without a person, a
    failed sign-in with an unknown address: one entry that operators see.

    Cost: two statements for everybody, so that the response time does not tell who has signed up. `detail` holds no secret.
    """
    event = SecurityEvent(
        user=user,
        kind=kind,
        detail=detail[:254].replace("\0", ""),
        address=client_address(request.META),
        client=request.META.get("HTTP_USER_AGENT", "")[:200].replace("\0", ""),
        at=clock.now(),
    )
    event.full_clean(exclude=["user"])
    event.save(force_insert=True)
    by_herself = kind not in _BY_A_STRANGER
    audit_detail = {"address": event.address, "client": client_name(event.client)}
    email = user.email if user else ""
    with connection.cursor() as cursor:
        cursor.execute(
            _AUDIT,
            {
                "actor": user.pk if user and by_herself else None,
                "label": email if by_herself else "Not signed in",
                "action": f"user.{kind.value}",
                "email": email,
                "detail": json.dumps(audit_detail | ({"detail": event.detail} if event.detail else {})),
                "at": event.at,
                "user": user.pk if user else None,
            },
        )
    return event


@transaction.atomic
def end_sessions(*, user: User, request: HttpRequest, keys: list[str] | None = None) -> int:
    """End the person's sessions with these stored keys, without keys all except that of this request, and return how many.
    A concurrent request of such a session cannot restore it. Every known device of the person but this one becomes
    unknown."""
    sessions = Session.objects.filter(user=user).exclude(session_key=current_key(request))
    rows = list((sessions if keys is None else sessions.filter(session_key__in=keys)).select_for_update())
    if rows:
        Session.objects.filter(pk__in=[row.pk for row in rows]).delete()
        names = sorted({f"{client_name(row.client)}, {row.address or 'unknown'}" for row in rows})
        record(user=user, kind=SecurityEvent.Kind.END_SESSION, request=request, detail="; ".join(names))
    forget_devices(user)
    remember_device(request, user)
    return len(rows)


@transaction.atomic
def change_security_policy(
    *,
    account: Account,
    actor: Actor,
    second_factor_required: bool,
    second_factor_grace_days: int = 0,
    session_max_hours: int | None = None,
    session_idle_minutes: int | None = None,
) -> None:
    """Set an account's requirements: a second factor, days to set one up, and the highest age and idle time of a session
    (None: no limit). Raises UserError when the person who requires a second factor has none, ValidationError for a number
    out of range."""
    row = Account.objects.select_for_update().get(pk=account.pk)
    before = {name: getattr(row, name) for name in _POLICY}
    if second_factor_required and not row.second_factor_required:
        _check_own_second_factor(actor)
        row.second_factor_required_at = clock.now()
    row.second_factor_required = second_factor_required
    row.second_factor_grace_days = second_factor_grace_days
    row.session_max_hours, row.session_idle_minutes = session_max_hours, session_idle_minutes
    row.full_clean()
    changed = {name: getattr(row, name) for name in _POLICY if getattr(row, name) != before[name]}
    if changed:
        row.save(update_fields=[*_POLICY, "second_factor_required_at"])
        audit.record(
            account=row,
            actor=actor,
            action="account.change",
            target=row.name,
            detail={"from": {name: before[name] for name in changed}, "to": changed},
        )
    for name in (*_POLICY, "second_factor_required_at"):
        setattr(account, name, getattr(row, name))


def _check_own_second_factor(actor: Actor) -> None:
    if not User.objects.filter(has_second_factor("pk"), pk=actor.user.pk if actor.user else 0):
        raise UserError(
            "Set up your own second factor first, or you would lock yourself out.",
            field="second_factor_required",
        )


def current_key(request: HttpRequest) -> str:
    """The stored key of the session; empty where the request has none."""
    from accounts.security.sessions import digest

    return digest(request.session.session_key) if request.session.session_key else ""


def sweep() -> int:
    """Delete expired sessions and events older than 400 days, reseal second factors; return the number of rows."""
    now = clock.now()
    sessions, _ = Session.objects.filter(expire_date__lt=now).delete()
    events, _ = SecurityEvent.objects.filter(at__lt=now - RETENTION).delete()
    return sessions + events + seal_under_the_current_key()
