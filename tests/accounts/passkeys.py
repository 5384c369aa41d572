"""A passkey in software: registered for a person, and used on the sign-in page."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from django.test import Client
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import (
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
)

from accounts.models import User

SITE = "testserver"
FLAGS = AuthenticatorData.FLAG.UP | AuthenticatorData.FLAG.UV


class Passkey:
    def __init__(self, user: User) -> None:
        self._user, self._key, self._id = user, ec.generate_private_key(ec.SECP256R1()), b"a credential"
        public = ES256.from_cryptography_key(self._key.public_key())  # type: ignore[no-untyped-call]
        data = AuthenticatorData.create(
            _site_digest(),
            FLAGS | AuthenticatorData.FLAG.AT,
            0,
            AttestedCredentialData.create(b"\0" * 16, self._id, public),
        )
        attestation = AttestationObject.create("none", data, {})
        credential = {
            "id": websafe_encode(self._id),
            "rawId": websafe_encode(self._id),
            "type": "public-key",
            "response": {
                "clientDataJSON": websafe_encode(_client_data("webauthn.create", "AAAA")),
                "attestationObject": websafe_encode(bytes(attestation)),
            },
            "clientExtensionResults": {"credProps": {"rk": True}},
        }
        Authenticator.objects.create(
            user=user, type=Authenticator.Type.WEBAUTHN, data={"name": "Passkey", "credential": credential}
        )

    def sign_in(self, client: Client) -> None:
        url = "/auth/2fa/webauthn/login/"
        options = client.get(url, headers={"x-requested-with": "XMLHttpRequest"}).json()["request_options"]
        client.post(url, {"credential": json.dumps(self._response(options["publicKey"]["challenge"]))})

    def _response(self, challenge: str) -> dict[str, Any]:
        client_data = _client_data("webauthn.get", challenge)
        data = bytes(AuthenticatorData.create(_site_digest(), FLAGS, 1))
        signature = self._key.sign(data + hashlib.sha256(client_data).digest(), ec.ECDSA(SHA256()))
        return {
            "id": websafe_encode(self._id),
            "rawId": websafe_encode(self._id),
            "type": "public-key",
            "response": {
                "clientDataJSON": websafe_encode(client_data),
                "authenticatorData": websafe_encode(data),
                "signature": websafe_encode(signature),
                "userHandle": websafe_encode(user_pk_to_url_str(self._user).encode()),
            },
            "clientExtensionResults": {},
        }


def _site_digest() -> bytes:
    return hashlib.sha256(SITE.encode()).digest()


def _client_data(kind: str, challenge: str) -> bytes:
    return bytes(CollectedClientData.create(kind, challenge, f"https://{SITE}"))
