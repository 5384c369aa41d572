"""`private_key_jwt` of service accounts: who gets a token by a JWT that it signs, what is refused, and what replaces a key."""

from __future__ import annotations

import contextlib
import json
import secrets
from base64 import b64encode
from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from hmac import digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from django.core.cache import cache
from django.test import Client, override_settings
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from joserfc.jwk import JWKRegistry

from accounts.models import AuditEntry, ClientAssertion, OAuthAccessToken, ServiceAccount
from accounts.oauth.client_keys import parse_keys
from accounts.oauth.resource import issuer, resource
from accounts.oauth.service_accounts import create_service_account, replace_keys, rotate_secret
from accounts.oauth.services import sweep
from accounts.scoping import account_scope
from finops.lib import clock
from finops.lib.errors import UserError
from tests.accounts.oauth.flow import json_of, status_at_door, token_request
from tests.accounts.oauth.test_token import dump
from tests.cast import Cast

TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
RSA = rsa.generate_private_key(65537, 2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()
PAIRS = [("RS256", RSA), ("ES256", EC), ("EdDSA", ED)]

# RFC 9864 renames EdDSA, which most programs still sign with.
pytestmark = pytest.mark.filterwarnings("ignore:EdDSA is deprecated:joserfc.errors.SecurityWarning")


@pytest.fixture(autouse=True)
def _no_kept_keys() -> None:
    cache.clear()


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
        given = {"account": cast.account, "actor": cast.actor, "name": "CI agent", **fields}
        self.row, self.secret = create_service_account(keys=keys, **given)
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
        return token_request({name: value for name, value in form.items() if value is not None})


def refusal(answer: Any) -> str:
    assert answer.status_code == 401, answer.content
    assert json_of(answer)["error"] == "invalid_client"
    assert not OAuthAccessToken.objects.exists()
    return str(json_of(answer)["error_description"])


NOT_SIGNED = "The client assertion is not signed by a key of this client. Check the client ID and the key."


@pytest.mark.parametrize("form", ["pem", "jwk", "set"])
@pytest.mark.parametrize(("algorithm", "key"), PAIRS)
def test_a_program_gets_a_token_by_a_jwt_that_its_key_signed(
    cast: Cast, algorithm: str, key: Any, form: str
) -> None:
    texts = {"pem": pem(key), "jwk": json.dumps(jwk(key)), "set": json.dumps({"keys": [jwk(RSA), jwk(key)]})}
    agent = Agent(cast, texts[form], access="read_write")

    answer = agent.show(agent.sign(key, algorithm))

    assert agent.secret == ""
    assert (answer.status_code, json_of(answer)["scope"]) == (200, "mcp:read mcp:write"), answer.content
    assert status_at_door(json_of(answer)["access_token"]) == 200


@pytest.mark.parametrize("audience", ["{issuer}", "{issuer}/", "{issuer}/oauth/token"])
@pytest.mark.parametrize("listed", [False, True])
def test_the_audience_is_the_issuer_or_the_token_endpoint(cast: Cast, audience: str, listed: bool) -> None:
    agent = Agent(cast, pem(EC))
    value = audience.format(issuer=issuer())

    answer = agent.show(agent.sign(EC, "ES256", aud=[value] if listed else value, iat=None))

    assert answer.status_code == 200, answer.content


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"aud": "https://other.example"}, "aud of the client assertion must be"),
        ({"aud": None}, "aud of the client assertion must be"),
        ({"aud": ["https://other.example", "ISSUER"]}, "aud of the client assertion must be"),
        ({"iss": "other"}, "must have the client ID as iss and sub"),
        ({"iss": None}, "must have the client ID as iss and sub"),
        ({"sub": "other"}, NOT_SIGNED),
        ({"sub": None}, NOT_SIGNED),
        ({"jti": None}, "no usable jti"),
        ({"jti": ""}, "no usable jti"),
        ({"jti": "x" * 256}, "no usable jti"),
        ({"exp": None}, "no usable exp"),
        ({"exp": True}, "no usable exp"),
        ({"exp": ("from now", 301)}, "lives longer than 5 minutes"),
        ({"exp": ("from now", 400), "iat": None}, "lives longer than 5 minutes"),
        ({"exp": ("from now", -61), "iat": ("from now", -200)}, "has expired"),
        ({"iat": ("from now", 90), "exp": ("from now", 100)}, "is of the future"),
        ({"nbf": ("from now", 90)}, "is of the future"),
    ],
)
def test_an_assertion_with_a_wrong_claim_gets_no_token(
    cast: Cast, changes: dict[str, Any], text: str
) -> None:
    agent = Agent(cast, pem(EC))
    now = int(clock.now().timestamp())
    claims = {name: now + value[1] if isinstance(value, tuple) else value for name, value in changes.items()}
    if isinstance(claims.get("aud"), list):
        claims["aud"] = [issuer() if each == "ISSUER" else each for each in claims["aud"]]

    payload = agent.claims(**claims)
    assertion = jwt.api_jws.encode(json.dumps(payload).encode(), EC, "ES256")

    assert text in refusal(agent.show(assertion))


def test_an_assertion_counts_once(cast: Cast) -> None:
    agent = Agent(cast, pem(ED))
    assertion = agent.sign(ED, "EdDSA")

    first, second = agent.show(assertion), agent.show(assertion)

    assert first.status_code == 200
    assert json_of(second)["error_description"].startswith("The client assertion was already used.")
    assert OAuthAccessToken.objects.count() == 1
    sweep()
    assert ClientAssertion.objects.count() == 1
    ClientAssertion.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    sweep()
    assert not ClientAssertion.objects.exists()


def test_two_programs_may_choose_the_same_jti(cast: Cast) -> None:
    agents = [Agent(cast, pem(ED), name=name) for name in ("one", "two")]

    answers = [agent.show(agent.sign(ED, "EdDSA", jti="1")) for agent in agents]

    assert [answer.status_code for answer in answers] == [200, 200]


@pytest.mark.parametrize(("algorithm", "key"), PAIRS)
def test_another_key_opens_nothing(cast: Cast, algorithm: str, key: Any) -> None:
    agent = Agent(cast, json.dumps({"keys": [jwk(RSA), jwk(EC), jwk(ED)]}))
    others: dict[str, Any] = {
        "RS256": rsa.generate_private_key(65537, 2048),
        "ES256": ec.generate_private_key(ec.SECP256R1()),
        "EdDSA": ed25519.Ed25519PrivateKey.generate(),
    }

    assert refusal(agent.show(agent.sign(others[algorithm], algorithm))) == NOT_SIGNED
    assert agent.show(agent.sign(key, algorithm)).status_code == 200


def test_no_signature_and_a_signature_by_the_public_key_open_nothing(cast: Cast) -> None:
    agent = Agent(cast, pem(RSA))
    header, payload = (
        b64encode(json.dumps(part).encode(), b"-_").rstrip(b"=").decode()
        for part in ({"alg": "HS256", "typ": "JWT"}, agent.claims())
    )
    signature = b64encode(digest(pem(RSA).encode(), f"{header}.{payload}".encode(), sha256), b"-_")
    by_public_key = f"{header}.{payload}.{signature.rstrip(b'=').decode()}"

    for assertion in (agent.sign(None, "none"), by_public_key, agent.sign("s" * 64, "HS512")):
        assert "must be signed by RS256, ES256, EdDSA" in refusal(agent.show(assertion))
    for algorithm in ("RS384", "RS512", "PS256"):
        assert "must be signed by" in refusal(agent.show(agent.sign(RSA, algorithm)))


def test_keys_in_the_header_are_not_read(cast: Cast) -> None:
    agent = Agent(cast, pem(EC))
    other = ec.generate_private_key(ec.SECP256R1())

    for headers in ({"jwk": jwk(other)}, {"jku": "https://keys.example/set"}, {"kid": "0"}):
        assert refusal(agent.show(agent.sign(other, "ES256", headers))) == NOT_SIGNED
    assert "is not supported" in refusal(agent.show(agent.sign(EC, "ES256", {"crit": ["exp"]})))


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"client_secret": "x"}, "invalid_request"),
        ({"client_assertion_type": "saml"}, "invalid_client"),
        ({"client_assertion_type": None}, "invalid_client"),
        ({"client_assertion": None}, "invalid_client"),
        ({"client_assertion": "a.b.c"}, "invalid_client"),
        ({"client_assertion": "x" * 20_000}, "invalid_client"),
        ({"client_id": "another"}, "invalid_client"),
    ],
)
def test_a_wrong_request_gets_no_token(cast: Cast, changes: dict[str, Any], error: str) -> None:
    agent = Agent(cast, pem(EC))

    answer = agent.show(agent.sign(EC, "ES256"), **changes)

    assert (answer.status_code, json_of(answer)["error"]) == (
        400 if error == "invalid_request" else 401,
        error,
    )
    assert not OAuthAccessToken.objects.exists()


def test_one_with_a_key_has_no_secret_and_one_with_a_secret_no_key(cast: Cast) -> None:
    agent, other = Agent(cast, pem(EC)), Agent(cast, "", name="other")

    for secret in ("", "x", "fsas_"):
        form = {
            "grant_type": "client_credentials",
            "client_id": agent.client_id,
            "client_secret": secret,
        }
        assert token_request(form).status_code == 401
    assert other.secret.startswith("fsas_")
    assert refusal(other.show(other.sign(EC, "ES256"))) == NOT_SIGNED
    with pytest.raises(UserError, match="has a key and no secret"):
        rotate_secret(service_account=agent.row, actor=cast.actor)


def test_a_key_is_replaced_and_the_old_one_ends_with_its_tokens(cast: Cast) -> None:
    agent = Agent(cast, pem(RSA))
    token = json_of(agent.show(agent.sign(RSA, "RS256")))["access_token"]

    replace_keys(service_account=agent.row, actor=cast.actor, keys=pem(EC))

    assert status_at_door(token) == 401
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
    form = {
        "grant_type": "client_credentials",
        "client_id": agent.client_id,
        "client_secret": agent.secret,
    }
    token = json_of(token_request(form))["access_token"]

    replace_keys(service_account=agent.row, actor=cast.actor, keys=pem(ED))

    assert (status_at_door(token), token_request(form).status_code) == (401, 401)
    assert agent.show(agent.sign(ED, "EdDSA")).status_code == 200


def test_it_revokes_a_token_by_its_key(cast: Cast) -> None:
    agent = Agent(cast, pem(EC))
    token = json_of(agent.show(agent.sign(EC, "ES256")))["access_token"]
    form = {"token": token, "client_assertion_type": TYPE}

    refused = token_request({**form, "client_assertion": "a.b.c"}, "/oauth/revoke")
    assert (refused.status_code, status_at_door(token)) == (401, 200)

    form["client_assertion"] = agent.sign(EC, "ES256")
    assert (token_request(form, "/oauth/revoke").status_code, status_at_door(token)) == (200, 401)


def test_an_expired_one_is_refused_as_one_with_a_secret_is(cast: Cast) -> None:
    agent = Agent(cast, pem(EC), expires_at=clock.now() + timedelta(minutes=5))
    ServiceAccount.objects.unscoped().filter(pk=agent.row.pk).update(expires_at=clock.now())

    answer = agent.show(agent.sign(EC, "ES256"))

    assert (answer.status_code, json_of(answer)["error"]) == (400, "unauthorized_client")


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
    with pytest.raises(UserError, match=message) as refused:
        Agent(cast, text)

    assert refused.value.field == "key"
    assert not ServiceAccount.objects.unscoped().exists()


@given(text=st.text(max_size=200) | st.recursive(st.none() | st.text(), st.lists).map(json.dumps))
def test_whatever_is_pasted_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(UserError):
        assert parse_keys(text).label


@given(
    header=st.dictionaries(
        st.sampled_from(["alg", "kid", "typ", "crit", "b64"]), st.none() | st.text() | st.integers()
    ),
    payload=st.none()
    | st.text()
    | st.dictionaries(st.sampled_from(["sub", "iss", "aud", "exp", "jti"]), st.text()),
)
@hypothesis_settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40
)
def test_whatever_an_assertion_says_it_is_refused(cast: Cast, header: Any, payload: Any) -> None:
    parts = (json.dumps(part).encode() for part in ({"alg": "ES256", **header}, payload))
    text = ".".join(b64encode(part, b"-_").rstrip(b"=").decode() for part in (*parts, b"signature"))
    form = {"grant_type": "client_credentials", "client_assertion_type": TYPE, "client_assertion": text}

    with override_settings(OAUTH_TOKEN_PER_MINUTE=10**9):
        assert token_request(form).status_code == 401


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


def test_the_metadata_names_the_method_and_its_algorithms() -> None:
    document = json.loads(Client().get("/.well-known/oauth-authorization-server").content)

    for endpoint in ("token", "revocation"):
        assert "private_key_jwt" in document[f"{endpoint}_endpoint_auth_methods_supported"]
        algorithms = document[f"{endpoint}_endpoint_auth_signing_alg_values_supported"]
        assert algorithms == ["RS256", "ES256", "EdDSA", "Ed25519"]
