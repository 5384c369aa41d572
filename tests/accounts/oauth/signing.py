"""Programs with a service account whose key signs JWTs (`private_key_jwt`), and the keys of tests."""

from __future__ import annotations

import secrets
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from joserfc.jwk import JWKRegistry

from accounts.models import OAuthAccessToken
from accounts.oauth.resource import issuer, resource
from accounts.oauth.service_accounts import create_service_account
from finops.lib import clock
from tests.accounts.oauth.flow import json_of, token_request
from tests.cast import Cast

TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
RSA = rsa.generate_private_key(65537, 2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()
PAIRS = [("RS256", RSA), ("ES256", EC), ("EdDSA", ED)]
NOT_SIGNED = "The client assertion is not signed by a key of this client. Check the client ID and the key."


def pem(key: Any) -> str:
    public = key.public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return str(public.public_bytes(serialization.Encoding.PEM, form).decode())


def private_pem(key: Any) -> str:
    encodings = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return str(key.private_bytes(*encodings).decode())


def jwk(key: Any, **members: Any) -> dict[str, Any]:
    kind = "RSA" if isinstance(key, rsa.RSAPrivateKey) else "EC" if hasattr(key, "curve") else "OKP"
    return {**JWKRegistry.import_key(pem(key), kind).as_dict(private=False), **members}


class Agent:
    """A program with a service account, and what it signs."""

    def __init__(self, cast: Cast, keys: str, **fields: Any) -> None:
        values = {"account": cast.account, "actor": cast.actor, "name": "CI agent", **fields}
        self.row, self.secret = create_service_account(keys=keys, **values)
        self.client_id = self.row.connection.application.client_id

    def claims(self, **changes: Any) -> dict[str, Any]:
        """Those of a good assertion; a change to None leaves one out."""
        now = int(clock.now().timestamp())
        claims = {
            "iss": self.client_id,
            "sub": self.client_id,
            "aud": issuer(),
            "jti": secrets.token_hex(8),
            "iat": now,
            "exp": now + 300,
            **changes,
        }
        return {name: value for name, value in claims.items() if value is not None}

    def sign(self, key: Any, algorithm: str, headers: dict[str, Any] | None = None, **changes: Any) -> str:
        return jwt.encode(self.claims(**changes), key, algorithm, headers=headers)

    def show(self, assertion: str, **changes: Any) -> Any:
        form = {
            "grant_type": "client_credentials",
            "client_assertion_type": TYPE,
            "client_assertion": assertion,
            "resource": resource(),
            **changes,
        }
        return token_request(form)


def refusal(answer: Any) -> str:
    assert answer.status_code == 401, answer.content
    assert json_of(answer)["error"] == "invalid_client"
    assert not OAuthAccessToken.objects.exists()
    return str(json_of(answer)["error_description"])
