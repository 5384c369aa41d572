"""`private_key_jwt` of service accounts: who gets a token by a JWT that it signs, and what is refused."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import timedelta
from hashlib import sha256
from hmac import digest
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from django.core.cache import cache
from django.test import Client, override_settings
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from accounts.models import ClientAssertion, OAuthAccessToken, ServiceAccount
from accounts.oauth.resource import issuer
from accounts.oauth.services import sweep
from finops.lib import clock
from tests.accounts.oauth.flow import json_of, mcp_status, token_request
from tests.accounts.oauth.signing import (
    EC,
    ED,
    NOT_SIGNED,
    PAIRS,
    RSA,
    TYPE,
    Agent,
    jwk,
    pem,
    refusal,
)
from tests.cast import Cast

# RFC 9864 renames EdDSA, which most programs still sign with.
pytestmark = pytest.mark.filterwarnings("ignore:EdDSA is deprecated:joserfc.errors.SecurityWarning")


@pytest.fixture(autouse=True)
def _empty_key_cache() -> None:
    cache.clear()


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
    assert mcp_status(json_of(answer)["access_token"]) == 200


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
    other_keys: dict[str, Any] = {
        "RS256": rsa.generate_private_key(65537, 2048),
        "ES256": ec.generate_private_key(ec.SECP256R1()),
        "EdDSA": ed25519.Ed25519PrivateKey.generate(),
    }

    assert refusal(agent.show(agent.sign(other_keys[algorithm], algorithm))) == NOT_SIGNED
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


def test_a_client_assertion_revokes_a_token(cast: Cast) -> None:
    agent = Agent(cast, pem(EC))
    token = json_of(agent.show(agent.sign(EC, "ES256")))["access_token"]
    form = {"token": token, "client_assertion_type": TYPE}

    refusal = token_request({**form, "client_assertion": "a.b.c"}, "/oauth/revoke")
    assert (refusal.status_code, mcp_status(token)) == (401, 200)

    form["client_assertion"] = agent.sign(EC, "ES256")
    assert (token_request(form, "/oauth/revoke").status_code, mcp_status(token)) == (200, 401)


def test_an_expired_one_is_refused_as_one_with_a_secret_is(cast: Cast) -> None:
    agent = Agent(cast, pem(EC), expires_at=clock.now() + timedelta(minutes=5))
    ServiceAccount.objects.unscoped().filter(pk=agent.row.pk).update(expires_at=clock.now())

    answer = agent.show(agent.sign(EC, "ES256"))

    assert (answer.status_code, json_of(answer)["error"]) == (400, "unauthorized_client")


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


def test_the_metadata_names_the_method_and_its_algorithms() -> None:
    document = json.loads(Client().get("/.well-known/oauth-authorization-server").content)

    for endpoint in ("token", "revocation"):
        assert "private_key_jwt" in document[f"{endpoint}_endpoint_auth_methods_supported"]
        algorithms = document[f"{endpoint}_endpoint_auth_signing_alg_values_supported"]
        assert algorithms == ["RS256", "ES256", "EdDSA", "Ed25519"]
