"""Writes on connections: consent opens a connection; ending a connection ends all its codes and tokens at once."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, cast

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest

from accounts import audit
from accounts.audit import Actor
from accounts.models import (
    Account,
    ClientAssertion,
    Membership,
    OAuthAccessToken,
    OAuthApplication,
    OAuthConnection,
    OAuthGrant,
    OAuthRefreshToken,
    Role,
    ServiceAccount,
    User,
)
from accounts.oauth.provider import REFRESH_TOKEN_IDLE_SECONDS, REPLAY_SECONDS
from accounts.oauth.service_accounts import delete_service_account
from accounts.reader_limits import assign_limit
from accounts.security.mfa import has_second_factor
from accounts.security.policy import missing_factor_deadline, session_problem
from accounts.sso.enforcement import enforced_provider, may_enter
from finops.lib import clock
from finops.lib.errors import UserError

NEVER_CONNECTED_DAYS = 7
FORGOTTEN_DAYS = 90


@transaction.atomic
def open_connection(
    *,
    user: User,
    account: Account,
    application: OAuthApplication,
    access: str,
    redirect_uri: str,
    request: HttpRequest | None = None,
    limit: str = "",
) -> OAuthConnection:
    """Create the connection that a person consents to in `request`, without a token yet. `limit` is a choice of `reader_limits`.

    Raises UserError if the person is not a member or the role allows less than `access`, the account is suspended, or
    its pages would not open: without the required second factor or single sign-on, or with a session that is too old.
    """
    # Locked, so that a concurrent removal of the member waits and then finds the connection.
    membership = (
        Membership.objects.select_for_update(of=("self",))
        .annotate(
            has_second_factor=has_second_factor("user_id"), sso_provider=enforced_provider("account_id")
        )
        .filter(account=account, user=user)
        .first()
    )
    if membership is None:
        raise UserError("You are not a member of this account. Choose another.", field="account")
    if account.suspended_at is not None:
        raise UserError(f"{account.name} is suspended. Choose another account.", field="account")
    by_session = _check_sign_in(account, membership, request)
    if access == OAuthConnection.Access.READ_WRITE and not membership.may(Role.MEMBER):
        raise UserError(
            f"You are a viewer of {account.name} and can grant read access only.",
            field="access",
        )
    connection = OAuthConnection(
        account=account,
        user=user,
        application=application,
        access=access,
        redirect_uri=redirect_uri,
        session_had_factor=by_session,
    )
    connection.full_clean(validate_unique=False)
    connection.save(force_insert=True)
    OAuthApplication.objects.filter(pk=application.pk).update(last_consent_at=clock.now())
    _record(connection, Actor.of_user(user), "connected_app.connect", {"redirect_uri": redirect_uri[:200]})
    if limit:
        assign_limit(connection, limit, Actor.of_user(user))
    return connection


def _check_sign_in(account: Account, membership: Any, request: HttpRequest | None) -> bool:
    """Return whether the session counts as the second factor that the account requires and the person does not have.
    Raises UserError if the person may not open the account's pages."""
    deadline = missing_factor_deadline(account, membership, request)
    if deadline is not None and deadline <= clock.now():
        raise UserError(
            (
                f"{account.name} requires two-factor sign-in. Set it up in your sign-in settings, then "
                "connect again."
            ),
            field="account",
        )
    if request is not None and (problem := session_problem(request, account)):
        raise UserError(f"{account.name}: {problem} Sign out, then connect again.", field="account")
    if request is not None and not may_enter(
        request, cast(User, request.user), membership.role, membership.sso_provider
    ):
        raise UserError(
            f"{account.name} requires single sign-on. Sign in with it, then connect again.", field="account"
        )
    return account.second_factor_required and deadline is None and not membership.has_second_factor


@transaction.atomic
def disconnect(*, connection: OAuthConnection, actor: Actor, reason: str = "") -> None:
    """End a connection: its tokens are refused from the next request on, in every process. Idempotent. Deletes the
    service account too if the connection belongs to one."""
    # Locked first, as a refresh locks it: otherwise a refresh could issue a token for the row that this deletes.
    row = (
        OAuthConnection.objects.unscoped()
        .select_for_update(of=("self",))
        .select_related("account", "application", "user")
        .filter(pk=connection.pk)
        .first()
    )
    if row is None:
        return
    if service_account := ServiceAccount.objects.unscoped().filter(connection=row).first():
        delete_service_account(service_account=service_account, actor=actor, reason=reason)
        return
    _record(row, actor, "connected_app.disconnect", {"reason": reason} if reason else {})
    row.delete()


@transaction.atomic
def delete_client(*, application: OAuthApplication, actor: Actor) -> int:
    """Delete a client, for example a deceptive one. Ends all its connections at once and returns their number."""
    # Unscoped: a client is connected to many accounts.
    connections = list(OAuthConnection.objects.unscoped().filter(application=application))
    for connection in connections:
        disconnect(connection=connection, actor=actor, reason="the client was deleted")
    OAuthApplication.objects.filter(pk=application.pk).delete()
    return len(connections)


@transaction.atomic
def disconnect_member(*, account: Account, user: User, actor: Actor) -> None:
    """End all connections of a person who leaves an account."""
    for connection in OAuthConnection.objects.unscoped().filter(account=account, user=user):
        disconnect(connection=connection, actor=actor, reason="no longer a member")


def _record(connection: OAuthConnection, actor: Actor, action: str, detail: dict[str, str]) -> None:
    audit.record(
        account=connection.account,
        actor=actor,
        action=action,
        target=str(connection.application),
        detail={
            "id": connection.pk,
            "access": connection.access,
            "of": connection.holder,
            "client_id": connection.application.client_id,
            **detail,
        },
    )


def sweep() -> int:
    """Delete connections and clients of every account that can no longer be used; return how many of each.

    Rotated refresh tokens are kept for the lifetime of a refresh token, because the reuse of one is a sign of theft.
    """
    now = clock.now()
    OAuthRefreshToken.objects.filter(
        revoked__lt=now - timedelta(seconds=REPLAY_SECONDS), replay_salt__isnull=False
    ).update(replay_salt=None)
    # Access tokens with a valid refresh token stay: django-oauth-toolkit's `cleartokens` would treat the refresh
    # token as an orphan.
    done = Q(refresh_token=None) | Q(refresh_token__revoked__isnull=False)
    OAuthAccessToken.objects.filter(done, expires__lt=now).delete()
    OAuthRefreshToken.objects.filter(revoked__lt=now - timedelta(seconds=REFRESH_TOKEN_IDLE_SECONDS)).delete()
    OAuthGrant.objects.filter(expires__lt=now - timedelta(days=1)).delete()
    ClientAssertion.objects.filter(expires_at__lt=now).delete()
    connections = _dead_connections(now)
    clients = _unused_clients(now)
    return sum(rows.delete()[0] for rows in (connections, clients))


def _dead_connections(now: datetime) -> QuerySet[OAuthConnection]:
    living = OAuthRefreshToken.objects.filter(
        connection=OuterRef("pk"),
        revoked=None,
        created__gt=now - timedelta(seconds=REFRESH_TOKEN_IDLE_SECONDS),
    )
    usable = OAuthAccessToken.objects.filter(connection=OuterRef("pk"), expires__gt=now)
    # A client with identity assertions has no refresh token and sends a new assertion instead.
    idle = now - timedelta(seconds=REFRESH_TOKEN_IDLE_SECONDS)
    is_recent = Q(created_at__gt=idle) | Q(last_used_at__gt=idle)
    by_assertion = Q(application__assertion_client__isnull=False) & is_recent
    return OAuthConnection.objects.unscoped().filter(  # of every account
        ~by_assertion,
        ~Exists(living),
        ~Exists(usable),
        user__isnull=False,
        created_at__lt=now - timedelta(hours=1),
    )


def _unused_clients(now: datetime) -> QuerySet[OAuthApplication]:
    """Return registered clients without a connection: NEVER_CONNECTED_DAYS old if they never had one, else
    FORGOTTEN_DAYS after the last consent."""
    source = OAuthApplication.RegistrationSource
    never = Q(last_consent_at=None, updated__lt=now - timedelta(days=NEVER_CONNECTED_DAYS))
    long_ago = Q(last_consent_at__lt=now - timedelta(days=FORGOTTEN_DAYS))
    connected = OAuthConnection.objects.unscoped().filter(application=OuterRef("pk"))  # of any account
    clients: QuerySet[OAuthApplication] = OAuthApplication.objects.filter(
        never | long_ago, ~Exists(connected), registration_source__in=[source.DCR, source.CIMD]
    )
    return clients
