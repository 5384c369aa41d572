"""The grants of the token endpoint: codes and refresh tokens of people, and client credentials of service accounts."""

from __future__ import annotations

from typing import Any

from oauthlib.oauth2 import WebApplicationServer
from oauthlib.oauth2.rfc6749.grant_types import ClientCredentialsGrant

from accounts.oauth.validators import Validator


class AuthorizationServer(WebApplicationServer):
    def __init__(self, request_validator: Validator, **options: Any) -> None:
        super().__init__(request_validator, **options)
        self.grant_types["client_credentials"] = ClientCredentialsGrant(
            request_validator, post_token=[request_validator.open_service_account]
        )
