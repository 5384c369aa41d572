"""The keys of service accounts (`private_key_jwt`): which are read, what replaces one, and sets of keys at a URL."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa
from django.core.cache import cache
from hypothesis import given
from hypothesis import strategies as st
from joserfc.jwk import JWKRegistry

from accounts.models import AuditEntry, ServiceAccount
from accounts.oauth.client_keys import parse_keys
from accounts.oauth.service_accounts import replace_keys, rotate_secret
from accounts.scoping import account_scope
from finops.lib.errors import UserError
from tests.accounts.oauth.flow import json_of, mcp_status
from tests.accounts.oauth.signing import (
    EC,
    ED,
    NOT_SIGNED,
    RSA,
    Agent,
    jwk,
    pem,
    private_pem,
    refusal,
)
from tests.accounts.oauth.test_service_accounts import ask, token_of
from tests.accounts.oauth.test_token import dump
from tests.cast import Cast

# RFC 9864 renames EdDSA, which most programs still sign with.
pytestmark = pytest.mark.filterwarnings("ignore:EdDSA is deprecated:joserfc.errors.SecurityWarning")


@pytest.fixture(autouse=True)
def _empty_key_cache() -> None:
    cache.clear()


def test_a_service_account_with_a_key_has_no_secret_and_one_with_a_secret_no_key(cast: Cast) -> None:
    agent, other = Agent(cast, pem(EC)), Agent(cast, "", name="other")

    for secret in ("", "x", "fsas_"):
        assert ask(agent.client_id, secret).status_code == 401
    assert other.secret.startswith("fsas_")
    assert refusal(other.show(other.sign(EC, "ES256"))) == NOT_SIGNED
    with pytest.raises(UserError, match="has a key and no secret"):
        rotate_secret(service_account=agent.row, actor=cast.actor)


def test_a_key_is_replaced_and_the_old_one_ends_with_its_tokens(cast: Cast) -> None:
    agent = Agent(cast, pem(RSA))
    token = json_of(agent.show(agent.sign(RSA, "RS256")))["access_token"]

    replace_keys(service_account=agent.row, actor=cast.actor, keys=pem(EC))

    assert mcp_status(token) == 401
    assert refusal(agent.show(agent.sign(RSA, "RS256"))) == NOT_SIGNED
    assert agent.show(agent.sign(EC, "ES256")).status_code == 200
    with account_scope(cast.account):
        entries = AuditEntry.objects.filter(action__startswith="service_account.").order_by("pk")
        keys = [(entry.action, entry.detail["key"]) for entry in entries]
    assert keys == [
        ("service_account.create", parse_keys(pem(RSA)).label),
        ("service_account.replace_key", parse_keys(pem(EC)).label),
    ]


def test_a_key_takes_the_place_of_a_secret(cast: Cast) -> None:
    agent = Agent(cast, "")
    token = token_of(ask(agent.client_id, agent.secret))

    replace_keys(service_account=agent.row, actor=cast.actor, keys=pem(ED))

    assert (mcp_status(token), ask(agent.client_id, agent.secret).status_code) == (401, 401)
    assert agent.show(agent.sign(ED, "EdDSA")).status_code == 200


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (private_pem(RSA), "It is a private key, which must stay with your program."),
        (
            json.dumps(JWKRegistry.import_key(private_pem(EC), "EC").as_dict(private=True)),
            "It is a private key",
        ),
        (json.dumps({"kty": "oct", "k": "c2VjcmV0"}), "It is a symmetric key."),
        (pem(rsa.generate_private_key(65537, 1024)), "Use an RSA key of 2048 to 8192 bits"),  # noqa: S505
        (pem(ec.generate_private_key(ec.SECP384R1())), "Use an RSA key of"),
        (pem(ed448.Ed448PrivateKey.generate()), "Use an RSA key of"),
        (
            json.dumps({"keys": [jwk(ec.generate_private_key(ec.SECP256R1())) for _ in range(6)]}),
            "maximum is 5",
        ),
        (json.dumps({"kty": "EC", "crv": "P-256", "x": "AQAB", "y": "AQAB"}), "cannot be read"),
        (json.dumps({"kty": "EC"}), "cannot be read"),
        (json.dumps({"kty": ["RSA"]}), "Use an RSA, EC P-256 or Ed25519 key."),
        ("[]", "cannot be read"),
        ("[" * 20_000, "cannot be read"),
        ("ssh-ed25519 AAAA", "cannot be read"),
        ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "cannot be read"),
        ("x" * 20_001, "longer than 20000 characters"),
        ("https://127.0.0.1/set", "key"),
        ("https://" + "x" * 500, "longer than 500 characters"),
    ],
)
def test_a_key_that_cannot_be_used_is_refused(cast: Cast, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        Agent(cast, text)

    assert error.value.field == "key"
    assert not ServiceAccount.objects.unscoped().exists()


@given(text=st.text(max_size=200) | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_whatever_is_pasted_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(UserError):
        assert parse_keys(text).label


class KeySetServer(ThreadingHTTPServer):
    """Serves a JWK set on loopback. `status` is that of its answers, `fetches` how many it gave."""

    def __init__(self) -> None:
        self.document: Any = {"keys": []}
        self.status, self.fetches = 200, 0
        super().__init__(("127.0.0.1", 0), KeySetHandler)
        self.url = f"http://127.0.0.1:{self.server_port}/set.json"


class KeySetHandler(BaseHTTPRequestHandler):
    server: KeySetServer

    def do_GET(self) -> None:
        self.server.fetches += 1
        body = json.dumps(self.server.document).encode()
        self.send_response(self.server.status)
        self.send_header("Location", "/other.json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""


@pytest.fixture
def key_set(settings: Any) -> Iterator[KeySetServer]:
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with KeySetServer() as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_key_set_is_fetched_once_until_a_key_is_unknown(cast: Cast, key_set: KeySetServer) -> None:
    other_use = jwk(ec.generate_private_key(ec.SECP384R1()), kid="encryption")
    key_set.document = {"keys": [other_use, jwk(EC, kid="1")]}
    agent = Agent(cast, key_set.url)
    for _ in range(2):
        assert agent.show(agent.sign(EC, "ES256", {"kid": "1"})).status_code == 200
    assert key_set.fetches == 1

    key_set.document = {"keys": [jwk(ED, kid="2")]}
    cache.delete(next(key for key in _names(agent) if key.endswith(":fetch")))
    assert agent.show(agent.sign(ED, "EdDSA", {"kid": "2"})).status_code == 200
    for kid in ("3", "4"):
        assert agent.show(agent.sign(EC, "ES256", {"kid": kid})).status_code == 401
    assert key_set.fetches == 2


def _names(agent: Agent) -> list[str]:
    name = f"client-keys:{agent.row.pk}:{sha256(agent.row.jwks_url.encode()).hexdigest()}"
    return [name, f"{name}:fetch"]


@pytest.mark.parametrize(
    ("document", "status", "text"),
    [
        ({"keys": [jwk(EC)]}, 302, "has no key"),
        ({"keys": [jwk(EC)]}, 500, "has no key"),
        ({"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}, 200, "has no key that can be used"),
        ([], 200, "has no key"),
    ],
)
def test_a_url_without_keys_gives_no_token(
    cast: Cast, key_set: KeySetServer, document: Any, status: int, text: str
) -> None:
    agent = Agent(cast, key_set.url)
    key_set.document, key_set.status = document, status

    answers = [agent.show(agent.sign(EC, "ES256")) for _ in range(2)]

    assert {(answer.status_code, json_of(answer)["error"]) for answer in answers} == {
        (400, "temporarily_unavailable")
    }
    assert text in json_of(answers[0])["error_description"]
    assert "Try again in a minute." in json_of(answers[1])["error_description"]
    assert key_set.fetches == 1


def test_a_key_set_is_fetched_through_the_guard_alone(
    cast: Cast, key_set: KeySetServer, settings: Any
) -> None:
    key_set.document = {"keys": [jwk(EC)]}
    agent = Agent(cast, key_set.url)
    settings.ALERT_ALLOWED_NETWORKS = []

    answer = agent.show(agent.sign(EC, "ES256"))

    assert (answer.status_code, json_of(answer)["error"]) == (400, "temporarily_unavailable")
    assert key_set.fetches == 0


def test_a_forged_key_set_in_the_cache_is_not_read(cast: Cast, key_set: KeySetServer) -> None:
    key_set.document = {"keys": [jwk(EC)]}
    agent = Agent(cast, key_set.url)
    other = ec.generate_private_key(ec.SECP256R1())
    cache.set(_names(agent)[0], json.dumps({"keys": [jwk(other)]}))

    assert refusal(agent.show(agent.sign(other, "ES256"))) == NOT_SIGNED
    assert agent.show(agent.sign(EC, "ES256")).status_code == 200


def test_no_private_part_of_a_key_is_stored(cast: Cast) -> None:
    agent = Agent(cast, json.dumps(jwk(EC, kid="mine", use="sig", note="x")))

    assert agent.row.public_keys == [jwk(EC, kid="mine")]
    token = json_of(agent.show(agent.sign(EC, "ES256", {"kid": "mine"})))["access_token"]
    assert token not in dump()
