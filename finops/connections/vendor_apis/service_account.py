"""Google's service accounts: a key file, and its access token by the JWT bearer grant (RFC 7523)."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from finops.connections.connector import SourceError
from finops.connections.transports.http import HttpApi
from finops.lib.errors import INVALID_JSON

TOKEN_URL: Final = "https://oauth2.googleapis.com"  # noqa: S105 an address
_GRANT: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_SECONDS: Final = 3_600


class _Token(msgspec.Struct, frozen=True):
    access_token: str


class GoogleServiceAccount(msgspec.Struct, frozen=True):
    """Fields of a key file. Its `token_uri` is ignored: tokens come from Google's endpoint only."""

    client_email: str
    private_key: str
    project_id: str = ""
    private_key_id: str = ""

    def __repr__(self) -> str:
        return f"GoogleServiceAccount({self.client_email})"

    @classmethod
    def read(cls, text: str) -> GoogleServiceAccount:
        """Parse a key file. Raises SourceError for other files."""
        try:
            return msgspec.json.decode(text, type=cls)
        except INVALID_JSON:
            raise SourceError(
                "Not a service account key. Paste the JSON file from Google Cloud.",
                field="key",
            ) from None

    def access_token(self, scope: str, connector: str) -> str:
        """Return a token for an hour. Raises AccessError for a key that Google rejects, SourceError for a damaged
        key. One request."""
        api = HttpApi(
            connector=f"{connector}_token",
            vendor="Google",
            base_url=TOKEN_URL,
            key_fix="Create a new key of the service account and enter it in this connection.",
            scope_fix="The service account may be disabled.",
            secrets=(self.private_key,),
        )
        body = urlencode({"grant_type": _GRANT, "assertion": self._assertion(scope)}).encode()
        return api.post("/token", body, "application/x-www-form-urlencoded", _Token).access_token

    def _assertion(self, scope: str) -> str:
        now = int(time.time())
        header = {"alg": "RS256", "typ": "JWT", "kid": self.private_key_id}
        claims = {
            "iss": self.client_email,
            "scope": scope,
            "aud": f"{TOKEN_URL}/token",
            "iat": now,
            "exp": now + _SECONDS,
        }
        return signed_jwt(header, claims, rsa_key(self.private_key, "key"))


def rsa_key(pem: str, field: str) -> RSAPrivateKey:
    """Return the private key of a PEM text. Raises SourceError, at that field, for another text or kind of key."""
    try:
        key = load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, RSAPrivateKey):
        raise SourceError(
            "Not an RSA private key in PEM without a passphrase. Paste the complete text.", field=field
        )
    return key


def signed_jwt(header: dict[str, str], claims: Mapping[str, object], key: RSAPrivateKey) -> str:
    """Return a JSON Web Token with RS256 (RFC 7519, RFC 7518 3.3)."""
    text = f"{_part(msgspec.json.encode(header))}.{_part(msgspec.json.encode(claims))}"
    return f"{text}.{_part(key.sign(text.encode(), PKCS1v15(), SHA256()))}"


def _part(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
