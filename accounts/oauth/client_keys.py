"""Public keys of a service account: entered by an admin, or fetched from its JWKS URL (ADR 0104)."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from typing import Any, Final, TypeAlias

import requests
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, KeySet, OKPKey, RSAKey

from accounts.models import ServiceAccount
from accounts.sso.http import SECONDS, guard
from accounts.sso.signing_keys import kept_keys
from finops.lib.errors import INVALID_JSON, UserError
from finops.lib.outbound import DeliveryTimeout, check_url

FIELD: Final = "key"
MAX_KEYS: Final = 5
MAX_FETCHED_KEYS: Final = 20
MAX_TEXT: Final = 20_000
MAX_URL: Final = 500
MAX_KEY_ID: Final = 255
RSA_BITS: Final = range(2048, 8193)
FORMS: Final = "Paste a public key as PEM, JWK or JWK set, or the https URL of a JWK set."
_PRIVATE: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
_PEM: Final = re.compile(r"-----BEGIN PUBLIC KEY-----.+?-----END PUBLIC KEY-----", re.DOTALL)

PublicKey: TypeAlias = RSAKey | ECKey | OKPKey


@dataclasses.dataclass(frozen=True)
class ClientKeys:
    """Public keys as JWKs, or the URL of a JWK set; one of them is empty."""

    jwks: list[dict[str, Any]]
    url: str

    @property
    def label(self) -> str:
        """Text for the audit log: the URL, or the thumbprints (RFC 7638)."""
        return self.url or ", ".join(_import_jwk(jwk).thumbprint() for jwk in self.jwks)


NO_KEYS: Final = ClientKeys(jwks=[], url="")


def parse_keys(text: str) -> ClientKeys:
    """Parse public keys as a person enters them: PEM, JWK, JWK set or an https URL.

    Raises UserError, at the field `key`, for a private or symmetric key, an unreadable or weak key, more than five
    keys, and a URL that may not be fetched.
    """
    text = text.strip()
    if len(text) > MAX_TEXT:
        raise _refusal(f"It is longer than {MAX_TEXT} characters. {FORMS}")
    if "PRIVATE KEY" in text:
        raise _private_key()
    if text.lower().startswith(("https://", "http://")):
        if len(text) > MAX_URL:
            raise _refusal(f"The URL is longer than {MAX_URL} characters.")
        check_url(text, field=FIELD)
        return ClientKeys(jwks=[], url=text)
    keys = [_import_pem(pem) for pem in _PEM.findall(text)] or [_import_jwk(jwk) for jwk in _jwks(text)]
    if len(keys) > MAX_KEYS:
        raise _refusal(f"The maximum is {MAX_KEYS} keys.")
    return ClientKeys(jwks=[key.as_dict(private=False) for key in keys], url="")


def verification_keys(service_account: ServiceAccount, key_id: str) -> list[PublicKey]:
    """Return the service account's keys that may have signed: those with the ID, or all keys if none has the ID or
    the ID is empty. Raises UserError if the JWKS URL does not answer and no keys are cached."""
    url = service_account.jwks_url
    if url:
        name = f"client-keys:{service_account.pk}:{hashlib.sha256(url.encode()).hexdigest()}"
        unavailable = "The JWKS URL of the service account did not answer. Try again in a minute."
        keys: list[Any] = kept_keys(name, key_id, lambda: _fetch(url), unavailable).keys
    else:
        keys = [_import_jwk(jwk) for jwk in service_account.public_keys]
    return [key for key in keys if key_id and key.kid == key_id] or keys


def _jwks(text: str) -> list[Any]:
    try:
        document = json.loads(text)
    except INVALID_JSON as error:
        raise _refusal(f"The key cannot be read. {FORMS}") from error
    if isinstance(document, dict):
        listed = document.get("keys", [document])
        if isinstance(listed, list) and listed:
            return listed
    raise _refusal(f"The key cannot be read. {FORMS}")


def _import_jwk(jwk: Any) -> PublicKey:
    """Import the public part and the ID of a JWK. Raises UserError for a private, symmetric or weak key."""
    if not isinstance(jwk, dict):
        raise _refusal(f"The key cannot be read. {FORMS}")
    if jwk.get("kty") == "oct":
        raise _refusal("It is a symmetric key. Paste the public key of an RSA, EC P-256 or Ed25519 key pair.")
    if _PRIVATE & jwk.keys():
        raise _private_key()
    part = {name: jwk[name] for name in ("kty", "n", "e", "crv", "x", "y") if name in jwk}
    key_id = jwk.get("kid")
    if isinstance(key_id, str) and 0 < len(key_id) <= MAX_KEY_ID:
        part["kid"] = key_id
    kinds: dict[Any, type[PublicKey]] = {"RSA": RSAKey, "EC": ECKey, "OKP": OKPKey}
    kind = kinds.get(jwk["kty"]) if isinstance(jwk.get("kty"), str) else None
    if kind is None:
        raise _refusal("Use an RSA, EC P-256 or Ed25519 key.")
    try:
        key = kind.import_key(part)
        _check_strength(key.public_key)
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise _refusal(f"The key cannot be read. {FORMS}") from error
    return key


def _import_pem(pem: str) -> PublicKey:
    try:
        raw = load_pem_public_key(pem.encode())
    except (ValueError, TypeError) as error:
        raise _refusal(f"The key cannot be read. {FORMS}") from error
    except Exception as error:  # UnsupportedAlgorithm, of a curve without a name, is no ValueError
        raise _refusal("Use an RSA, EC P-256 or Ed25519 key.") from error
    _check_strength(raw)
    kind: type[PublicKey] = (
        RSAKey
        if isinstance(raw, RSAPublicKey)
        else ECKey
        if isinstance(raw, EllipticCurvePublicKey)
        else OKPKey
    )
    return kind.import_key(pem)


def _check_strength(raw: Any) -> None:
    is_usable = (
        (isinstance(raw, RSAPublicKey) and raw.key_size in RSA_BITS)
        or (isinstance(raw, EllipticCurvePublicKey) and isinstance(raw.curve, SECP256R1))
        or isinstance(raw, Ed25519PublicKey)
    )
    if not is_usable:
        raise _refusal(f"Use an RSA key of {RSA_BITS[0]} to {RSA_BITS[-1]} bits, EC P-256 or Ed25519.")


def _fetch(url: str) -> KeySet:
    """Fetch a JWK set and return its usable keys. Raises UserError."""
    with requests.Session() as session:
        guard(session)
        try:
            answer = session.get(url, allow_redirects=False, timeout=SECONDS)
            document = answer.json() if answer.status_code == 200 else None
        except (UserError, DeliveryTimeout) as error:
            raise UserError(f"The JWKS URL cannot be fetched: {error}") from error
        except (requests.RequestException, ValueError, RecursionError) as error:
            raise UserError("The JWKS URL has no JWK set.") from error
    listed = document.get("keys") if isinstance(document, dict) else None
    keys: list[Any] = []
    for jwk in (listed if isinstance(listed, list) else [])[:MAX_FETCHED_KEYS]:
        try:
            keys.append(_import_jwk(jwk))
        except UserError:
            continue  # A set may have keys of other uses: encryption, another curve.
    if not keys:
        raise UserError("The JWKS URL has no key that can be used: RSA, EC P-256 or Ed25519.")
    return KeySet(keys)


def _private_key() -> UserError:
    return _refusal(
        "It is a private key, which must stay with your program. Paste the public key of a new key pair: this one is no longer secret."
    )


def _refusal(message: str) -> UserError:
    return UserError(message, field=FIELD)
