"""The request validator of django-oauth-toolkit: how codes and tokens are issued, stored and looked up.

Every code and token belongs to an OAuthConnection, whose row is locked while a code or refresh token is redeemed, so
that concurrent requests wait for each other. The token endpoint runs in one transaction; a response of 400 still
commits what was revoked.

oauthlib's request turns every parameter of a client into an attribute, so our own values are read from its `__dict__`
only.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.common import Request
from oauthlib.oauth2.rfc6749 import errors

from accounts.audit import Actor
from accounts.models import (
    OAuthAccessToken,
    OAuthApplication,
    OAuthConnection,
    OAuthGrant,
    OAuthRefreshToken,
    Role,
)
from accounts.oauth import cimd, client_assertions, tokens
from accounts.oauth.assertion_connections import open_by_assertion
from accounts.oauth.identity_assertions import GRANT_TYPE as JWT_BEARER
from accounts.oauth.provider import (
    ACCESS_TOKEN_SECONDS,
    CODE_SECONDS,
    OFFLINE_SCOPE,
    READ_SCOPE,
    REFRESH_TOKEN_IDLE_SECONDS,
    SCOPES,
    WRITE_SCOPE,
)
from accounts.oauth.resource import is_ours, resource
from accounts.oauth.services import disconnect
from accounts.oauth.tokens import ACCESS_PREFIX, REFRESH_PREFIX, checksum, looks_like
from accounts.security.policy import second_factor_deadline
from finops.lib import clock

GRANT_TYPES = {"authorization_code", "refresh_token"}
CLIENT_CREDENTIALS = "client_credentials"
MAX_CLIENT_ID = 255


def scopes_of(access: str) -> list[str]:
    """Return the scopes of an access; write includes read."""
    return [READ_SCOPE, WRITE_SCOPE] if access == OAuthConnection.Access.READ_WRITE else [READ_SCOPE]


def requested_scopes(listed: Collection[str], grantable: Collection[str], request: Request) -> list[str]:
    """Return the grantable scopes among those that a client listed, of which write includes read; all of them if it listed
    none. A client may list scopes of other servers, such as `openid`, and scopes that it was not granted. Raises
    InvalidScopeError if nothing is left."""
    listed = {*listed} - {"", OFFLINE_SCOPE}
    if WRITE_SCOPE in listed:
        listed.add(READ_SCOPE)
    scopes = [scope for scope in grantable if scope in listed] if listed else [*grantable]
    if not scopes:
        description = f"Send scope={' '.join(grantable)}, a part of it, or no scope."
        raise errors.InvalidScopeError(description=description, request=request)
    return scopes


def scopes_now(granted: list[str], role: str | None) -> list[str]:
    """Return the granted scopes that the person's role still allows: a viewer's client only reads."""
    if role is not None and Role(role).at_least(Role.MEMBER):
        return granted
    return [READ_SCOPE]


def _is_active(connection: OAuthConnection) -> bool:
    return connection.user is not None and connection.user.is_active


def _is_shut_out(connection: Any) -> bool:
    """Return whether the person of a locked connection left the account or does not have the second factor that it
    requires."""
    if connection.joined_at is None:
        return True
    if connection.has_second_factor or connection.session_had_factor:
        return False
    deadline = second_factor_deadline(connection.account, connection.joined_at)
    return deadline is not None and deadline <= clock.now()


class Validator(OAuth2Validator):
    # --- Clients

    def _load_application(self, client_id: Any, request: Request) -> OAuthApplication | None:
        """Return the client. A metadata document is fetched only at the authorization endpoint, for a person who is
        signed in."""
        cached_client = vars(request).get("client")
        if isinstance(cached_client, OAuthApplication) and cached_client.client_id == client_id:
            return cached_client
        if not isinstance(client_id, str) or not 0 < len(client_id) <= MAX_CLIENT_ID or "\0" in client_id:
            return None
        application: OAuthApplication | None = OAuthApplication.objects.filter(client_id=client_id).first()
        if request.http_method == "GET":
            application = cimd.resolve(client_id, application, request)
        request.client = application
        return application

    def client_authentication_required(self, request: Request, *args: Any, **kwargs: Any) -> bool:
        """Return False for a public client: it has no secret, so a secret that it sends is ignored."""
        if client_assertions.has_assertion(request):
            return True
        application = self._load_application(request.client_id, request)
        return application is None or application.client_type == OAuthApplication.CLIENT_CONFIDENTIAL

    def authenticate_client(self, request: Request, *args: Any, **kwargs: Any) -> bool:
        """Return whether the client sent its secret, or a JWT that it signed. Raises errors of oauthlib with the
        reason for an invalid JWT."""
        if client_assertions.has_assertion(request):
            request.client = client_assertions.authenticate(request)
            request.client_id = request.client.client_id
            return True
        return bool(super().authenticate_client(request, *args, **kwargs))

    def _extract_basic_auth(self, request: Request) -> str | None:
        text: str | None = super()._extract_basic_auth(request)
        return text if text is not None and text.isascii() else None

    def _check_secret(self, provided_secret: str, stored_secret: str) -> bool:
        """Return whether the secret is right. An empty secret is always refused, whatever is stored."""
        if not provided_secret or not stored_secret:
            return False
        return bool(super()._check_secret(provided_secret, stored_secret))

    def validate_redirect_uri(self, client_id: str, redirect_uri: str, request: Request, *args: Any) -> bool:
        try:
            return bool(request.client.redirect_uri_allowed(redirect_uri))
        except ValueError:  # an invalid port, an unclosed bracket
            return False

    def validate_grant_type(
        self, client_id: str, grant_type: str, client: Any, request: Request, *args: Any
    ) -> bool:
        if grant_type == CLIENT_CREDENTIALS:
            return bool(request.client.allows_grant_type(OAuthApplication.GRANT_CLIENT_CREDENTIALS))
        if grant_type == JWT_BEARER:
            return bool(request.client.allows_grant_type(JWT_BEARER))
        return grant_type in GRANT_TYPES and request.client.allows_grant_type(
            OAuthApplication.GRANT_AUTHORIZATION_CODE
        )

    def validate_scopes(
        self, client_id: str, scopes: list[str], client: Any, request: Request, *args: Any, **kwargs: Any
    ) -> bool:
        request.scopes = requested_scopes(scopes, SCOPES, request)
        return True

    def open_service_account(self, request: Request) -> None:
        """Return the connection of an authenticated client's service account, locked until the transaction ends.
        Raises errors of oauthlib with the reason if the service account gets no token."""
        _refuse_other_resources(request)
        connection = tokens.lock_service_account(request.client)
        problem = _service_account_problem(connection)
        if connection is None or problem:
            raise errors.UnauthorizedClientError(description=problem, request=request)
        request.connection = connection
        request.granted_scopes = requested_scopes(request.scopes, scopes_of(connection.access), request)

    def open_assertion(self, request: Request) -> None:
        """Return the connection of the person whom an authenticated client's assertion names, locked until the
        transaction ends. Raises errors of oauthlib with the reason if there is none."""
        _refuse_other_resources(request)
        request.connection, request.granted_scopes = open_by_assertion(request)

    # --- Codes

    def save_authorization_code(self, client_id: str, code: dict[str, str], request: Request) -> None:
        connection: OAuthConnection = vars(request)["connection"]
        user: Any = connection.user  # a person consented
        OAuthGrant.objects.create(
            connection=connection,
            application=request.client,
            user=user,
            code=checksum(code["code"]),
            expires=clock.now() + timedelta(seconds=CODE_SECONDS),
            redirect_uri=request.redirect_uri,
            scope=" ".join(scopes_of(connection.access)),
            code_challenge=request.code_challenge,
            code_challenge_method=request.code_challenge_method,
            resource=[resource()],
        )

    def validate_code(self, client_id: str, code: str, client: Any, request: Request, *args: Any) -> bool:
        """Return whether the code may be redeemed. A code that was redeemed before ends its connection."""
        _refuse_other_resources(request)
        grants = OAuthGrant.objects.filter(code=checksum(code), application=client)
        connection = tokens.lock_connection(grants)
        grant = grants.first() if connection else None
        if connection is None or grant is None:
            return False
        if grant.used_at is not None:
            disconnect(connection=connection, actor=_ACTOR, reason="authorization code reused")
            return False
        request.connection, request.grant = connection, grant
        request.user, request.scopes = connection.user, grant.scope.split()
        return _is_active(connection) and not grant.is_expired() and not _is_shut_out(connection)

    def get_code_challenge(self, code: str, request: Request) -> str | None:
        return vars(request)["grant"].code_challenge or None

    def get_code_challenge_method(self, code: str, request: Request) -> str | None:
        return vars(request)["grant"].code_challenge_method or None

    def confirm_redirect_uri(
        self, client_id: str, code: str, redirect_uri: str, client: Any, request: Request, *args: Any
    ) -> bool:
        if not vars(request)["grant"].redirect_uri_allowed(redirect_uri):
            raise errors.InvalidGrantError(
                description="redirect_uri must be the one of the authorization request.", request=request
            )
        return True

    def invalidate_authorization_code(self, client_id: str, code: str, request: Request, *args: Any) -> None:
        """Do nothing: the code's row stays, marked as used, so that a replay is recognised."""

    # --- Tokens

    def validate_refresh_token(self, refresh_token: str, client: Any, request: Request, *args: Any) -> bool:
        """Return whether the refresh token may be redeemed; set the pair to repeat if it was used a moment ago. A
        later reuse ends the connection."""
        _refuse_other_resources(request)
        if not looks_like(refresh_token, REFRESH_PREFIX):
            return False
        refresh_tokens = OAuthRefreshToken.objects.filter(
            token_checksum=checksum(refresh_token), application=client
        )
        connection = tokens.lock_connection(refresh_tokens)
        row = refresh_tokens.first() if connection else None
        if connection is None or row is None or not _is_active(connection):
            return False
        if _is_shut_out(connection):
            return False
        request.connection, request.user = connection, connection.user
        request.refresh_token_instance = row
        if row.revoked is None:
            return bool(row.created + timedelta(seconds=REFRESH_TOKEN_IDLE_SECONDS) > clock.now())
        request.replayed = tokens.replay(row, refresh_token)
        if request.replayed is None:
            disconnect(connection=connection, actor=_ACTOR, reason="refresh token reused")
            return False
        return True

    def get_original_scopes(self, refresh_token: str, request: Request, *args: Any) -> list[str]:
        return scopes_of(vars(request)["connection"].access)

    def is_within_original_scope(
        self, request_scopes: list[str], refresh_token: str, request: Request
    ) -> bool:
        request.scopes = requested_scopes(
            request_scopes, self.get_original_scopes(refresh_token, request), request
        )
        return True

    def save_bearer_token(self, token: dict[str, Any], request: Request, *args: Any, **kwargs: Any) -> None:
        """Store the pair in `token`, or replace it with the pair that the refresh token gave before. Its scope is
        what the tokens may do now: at most what the person's role allows.

        The library opens a transaction here; ours has been open since the row was locked.
        """
        attributes = vars(request)
        connection: OAuthConnection = attributes["connection"]
        if (scopes := attributes.get("granted_scopes")) is not None:
            token["scope"] = " ".join(scopes)
            self._store_access(token, connection, None)
            return
        role = attributes["connection"].role
        token["scope"] = " ".join(scopes_now(request.scopes, role))
        if replayed := attributes.get("replayed"):
            token.update(replayed.answer())
            token["scope"] = " ".join(scopes_now(token["scope"].split(), role))
            return
        old = attributes.get("refresh_token_instance")
        if old is None:
            OAuthGrant.objects.filter(pk=attributes["grant"].pk).update(used_at=clock.now())
        else:
            token["access_token"], token["refresh_token"] = tokens.rotate(old, request.refresh_token)
        self._store(token, connection, old)

    def _store(
        self, token: dict[str, Any], connection: OAuthConnection, old: OAuthRefreshToken | None
    ) -> None:
        access = self._store_access(token, connection, old)
        refresh = OAuthRefreshToken(access_token=access, **_of(connection))
        self._set_token_value(refresh, token["refresh_token"])
        refresh.save(force_insert=True)

    def _store_access(
        self, token: dict[str, Any], connection: OAuthConnection, old: OAuthRefreshToken | None
    ) -> OAuthAccessToken:
        expires = clock.now() + timedelta(seconds=ACCESS_TOKEN_SECONDS)
        access = OAuthAccessToken(
            scope=token["scope"], expires=expires, source_refresh_token=old, **_of(connection)
        )
        self._set_token_value(access, token["access_token"])
        access.save(force_insert=True)
        return access

    def revoke_token(self, token: str, token_type_hint: str | None, request: Request, *args: Any) -> None:
        """Revoke a token (RFC 7009): either token of a pair ends the connection. A token of another client counts as
        unknown. A service account's token ends without its connection, because each run of a program has a token of
        its own."""
        kinds: dict[str, Any] = {ACCESS_PREFIX: OAuthAccessToken, REFRESH_PREFIX: OAuthRefreshToken}
        for prefix, model in kinds.items():
            if looks_like(token, prefix):
                rows = model.objects.filter(token_checksum=checksum(token), application=request.client)
                connection = tokens.lock_connection(rows)
                if connection is not None and connection.user_id is None:
                    rows.delete()
                elif connection is not None:
                    disconnect(connection=connection, actor=_ACTOR, reason="the client revoked its token")

    def validate_bearer_token(self, token: str, scopes: list[str], request: Request) -> bool:
        """Return False: no resource uses the library's check; accounts.oauth.access reads tokens."""
        return False


_ACTOR = Actor(label="OAuth")


def _of(connection: OAuthConnection) -> dict[str, Any]:
    """Return the fields that a token copies from its connection."""
    return {
        "connection": connection,
        "user": connection.user,
        "application": connection.application,
        "resource": [resource()],
    }


def _service_account_problem(connection: OAuthConnection | None) -> str:
    """Return why a service account gets no token and what to do; empty if it gets one."""
    if connection is None:
        return "This service account was deleted. Create a new one in Settings, Service accounts."
    if connection.account.suspended_at is not None:
        return "The account is suspended. Ask the operator of this console."
    if connection.service_account.is_expired:
        return "This service account has expired. Create a new one in Settings, Service accounts."
    return ""


def _refuse_other_resources(request: Request) -> None:
    """Refuse a token request with a `resource` other than ours (RFC 8707), which is the only one."""
    resources = [value for key, value in request.decoded_body or [] if key == "resource"]
    if any(not is_ours(value) for value in resources if value):
        raise errors.CustomOAuth2Error(
            error="invalid_target", description=f"Tokens are only valid for {resource()}.", request=request
        )
