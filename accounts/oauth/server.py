"""The grants of the token endpoint: codes and refresh tokens of people, client credentials of service accounts, and identity
assertions of people."""

from __future__ import annotations

from typing import Any

from oauthlib.common import Request
from oauthlib.oauth2 import WebApplicationServer
from oauthlib.oauth2.rfc6749.grant_types import ClientCredentialsGrant

from accounts.oauth.identity_assertions import GRANT_TYPE as JWT_BEARER
from accounts.oauth.validators import Validator


class AssertionGrant(ClientCredentialsGrant):
    """RFC 7523, 2.1: the response of client credentials, for a client with a secret and without a refresh token."""

    def validate_token_request(self, request: Request) -> None:
        """Raises errors of oauthlib."""
        self.validate_client_confidential(request)
        self.validate_grant_type(request)
        self.validate_scopes(request)
        self.request_validator.open_assertion(request)


class AuthorizationServer(WebApplicationServer):
    def __init__(self, request_validator: Validator, **options: Any) -> None:
        super().__init__(request_validator, **options)
        self.grant_types["client_credentials"] = ClientCredentialsGrant(
            request_validator, post_token=[request_validator.open_service_account]
        )
        self.grant_types[JWT_BEARER] = AssertionGrant(request_validator)
