"""POST /oauth/token with a code: who may redeem it, once, for which token, and what is stored."""

from __future__ import annotations

from base64 import b64encode
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from accounts.models import OAuthAccessToken, OAuthApplication, OAuthConnection, OAuthGrant
from accounts.oauth.resource import resource
from finops.lib import clock
from tests.accounts.oauth.flow import (
    CALLBACK,
    OAuthClient,
    json_of,
    mcp_status,
    register,
    token_request,
    tokens_of,
)
from tests.cast import Cast


def error_of(response: Any, status: int = 400) -> str:
    assert response.status_code == status, response.content
    assert response["Cache-Control"] == "no-store"
    assert json_of(response)["error_description"]
    error: str = json_of(response)["error"]
    return error


def test_the_answer_is_never_stored_in_transit(cast: Cast) -> None:
    client = OAuthClient()

    answer = client.exchange(client.code(cast.member))

    assert answer["Cache-Control"] == "no-store"
    assert answer["Content-Type"] == "application/json"
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert json_of(answer).keys() == {"access_token", "token_type", "expires_in", "refresh_token", "scope"}


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"code_verifier": "wrong" * 10}, "invalid_grant"),
        ({"code_verifier": None}, "invalid_request"),
        ({"redirect_uri": "http://127.0.0.1:7777/other"}, "invalid_grant"),
        ({"code": "unknown"}, "invalid_grant"),
        ({"code": "nul\0"}, "invalid_grant"),
        ({"code": None}, "invalid_request"),
        ({"resource": "https://other.example/api/mcp"}, "invalid_target"),
        (
            {"grant_type": "password", "username": "member@example.com", "password": "x"},
            "unsupported_grant_type",
        ),
        ({"grant_type": "openid"}, "unauthorized_client"),
        ({"grant_type": "urn:ietf:params:oauth:grant-type:device_code"}, "unsupported_grant_type"),
        ({"grant_type": None}, "unsupported_grant_type"),
        ({"scope": ["a", "b"]}, "invalid_request"),
    ],
)
def test_a_wrong_request_is_refused_and_the_code_still_works(
    cast: Cast, changes: dict[str, Any], error: str
) -> None:
    client = OAuthClient()
    code = client.code(cast.member)

    assert error_of(client.exchange(**{"code": code, **changes})) == error

    assert tokens_of(client.exchange(code)).scope == "mcp:read"


def test_a_client_without_a_secret_gets_no_client_credentials_and_its_code_still_works(cast: Cast) -> None:
    client = OAuthClient()
    code = client.code(cast.member)

    assert error_of(client.exchange(code, grant_type="client_credentials"), 401) == "invalid_client"

    assert tokens_of(client.exchange(code)).scope == "mcp:read"


def test_the_resource_may_be_left_out_once_it_was_consented_to(cast: Cast) -> None:
    client = OAuthClient()

    tokens_of(client.exchange(client.code(cast.member), resource=None))

    assert OAuthAccessToken.objects.get().resource == [resource()]


def test_a_code_is_of_one_client(cast: Cast) -> None:
    client, thief = OAuthClient(), OAuthClient(client_name="Thief")
    code = client.code(cast.member)
    thief.verifier = client.verifier

    assert error_of(thief.exchange(code)) == "invalid_grant"

    tokens_of(client.exchange(code))


def test_a_code_ends_after_minutes(cast: Cast) -> None:
    client = OAuthClient()
    code = client.code(cast.member)
    remaining = OAuthGrant.objects.get().expires - clock.now()
    assert timedelta(minutes=4) < remaining <= timedelta(minutes=10)

    OAuthGrant.objects.update(expires=clock.now())

    assert error_of(client.exchange(code)) == "invalid_grant"


def test_a_replayed_code_revokes_what_it_minted(cast: Cast) -> None:
    client = OAuthClient()
    code = client.code(cast.member)
    tokens = tokens_of(client.exchange(code))
    newer = tokens_of(client.refresh(tokens.refresh))

    assert error_of(client.exchange(code)) == "invalid_grant"

    assert [mcp_status(token) for token in (tokens.access, newer.access)] == [401, 401]
    assert error_of(client.refresh(newer.refresh)) == "invalid_grant"
    assert not OAuthConnection.objects.unscoped().exists()


def test_a_code_replayed_without_the_verifier_revokes_too(cast: Cast) -> None:
    """Whoever stole a code has none; that it is known elsewhere is reason enough."""
    client = OAuthClient()
    code = client.code(cast.member)
    tokens = tokens_of(client.exchange(code))

    client.exchange(code, code_verifier="stolen" * 10)

    assert mcp_status(tokens.access) == 401


def test_a_person_who_was_deactivated_gets_no_token(cast: Cast) -> None:
    client = OAuthClient()
    code = client.code(cast.member)
    cast.member.is_active = False
    cast.member.save()

    assert error_of(client.exchange(code)) == "invalid_grant"


def test_no_code_token_or_secret_lies_in_the_database(cast: Cast) -> None:
    client = OAuthClient()
    code = client.code(cast.member, access="read_write")
    first = tokens_of(client.exchange(code))
    second = tokens_of(client.refresh(first.refresh))
    secret = json_of(
        register({"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "client_secret_post"})
    )["client_secret"]

    everything = dump()

    for plaintext in (
        code,
        client.verifier,
        first.access,
        first.refresh,
        second.access,
        second.refresh,
        secret,
    ):
        assert plaintext not in everything


def dump() -> str:
    """Every row of every table, as text."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        rows = []
        for table in tables:
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            rows += [row[0] for row in cursor.fetchall()]
    return "\n".join(rows)


def test_a_deleted_client_gets_an_error_to_register_again(cast: Cast) -> None:
    client = OAuthClient()
    tokens = client.connect(cast.member)
    OAuthApplication.objects.all().delete()

    assert error_of(client.refresh(tokens.refresh), 401) == "invalid_client"


def secret_client(**metadata: Any) -> tuple[OAuthClient, str]:
    payload = json_of(
        register(
            {"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "client_secret_basic", **metadata}
        )
    )
    return OAuthClient(payload["client_id"]), payload["client_secret"]


def test_a_client_with_a_secret_shows_it_in_the_body_or_the_header(cast: Cast) -> None:
    client, secret = secret_client()
    in_header = "Basic " + b64encode(f"{client.client_id}:{secret}".encode()).decode()

    tokens = tokens_of(client.exchange(client.code(cast.member), client_secret=secret))
    form = {"grant_type": "refresh_token", "refresh_token": tokens.refresh}

    assert tokens_of(token_request(form, authorization=in_header)).refresh != tokens.refresh


@pytest.mark.parametrize(
    ("form", "header"),
    [
        ({}, ""),
        ({"client_secret": ""}, ""),
        ({"client_secret": "wrong"}, ""),
        ({}, "Basic "),
        ({}, "Basic %%%"),
        ({}, "Basic é"),
        ({}, "Basic " + b64encode(b"no colon").decode()),
        ({}, "Basic " + b64encode(b"a\0:b").decode()),
        ({}, "Bearer x"),
    ],
)
def test_a_client_with_a_secret_must_show_it(cast: Cast, form: dict[str, str], header: str) -> None:
    client, _secret = secret_client()
    form_value = {
        "grant_type": "authorization_code",
        "client_id": client.client_id,
        "code": client.code(cast.member),
        "redirect_uri": CALLBACK,
        "code_verifier": client.verifier,
        **form,
    }

    answer = token_request(form_value, **({"authorization": header} if header else {}))

    assert error_of(answer, 401) == "invalid_client"


def test_an_empty_secret_opens_nothing_even_where_one_was_stored(cast: Cast) -> None:
    """Fault G."""
    client, _secret = secret_client()
    for stored in ("", OAuthApplication(client_secret="").client_secret):
        OAuthApplication.objects.update(client_secret=stored)
        header = "Basic " + b64encode(f"{client.client_id}:".encode()).decode()
        form = {"grant_type": "refresh_token", "refresh_token": "fort_x"}
        assert error_of(token_request(form, authorization=header), 401) == "invalid_client"


def test_checking_a_secret_costs_no_second_of_cpu() -> None:
    from django.contrib.auth.hashers import check_password, identify_hasher, make_password

    stored = make_password("s" * 128, hasher="finops_random_secret")

    assert identify_hasher(stored).algorithm == "finops_random_secret"
    assert check_password("s" * 128, stored)
    assert not check_password("t" * 128, stored)


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b'{"grant_type":"authorization_code"}', "application/json", 400),
        (b"grant_type=refresh_token", "text/plain", 400),
        (b"grant_type=refresh_token", "application/x-www-form-urlencoded; charset=utf-16", 400),
        (b"a=" + b"x" * 70_000, "application/x-www-form-urlencoded", 413),
        (b"&".join(b"a%d=1" % number for number in range(2000)), "application/x-www-form-urlencoded", 400),
        (b"\xff\xfe=%zz&%", "application/x-www-form-urlencoded", 400),
        (b"", "", 400),
    ],
    ids=[
        "json",
        "text",
        "utf-16",
        "too large",
        "too many",
        "garbage",
        "empty",
    ],
)
def test_a_body_other_than_a_form_gets_a_json_answer(
    db: None, body: bytes, content_type: str, status: int
) -> None:
    for path in ("/oauth/token", "/oauth/revoke"):
        answer = Client().generic("POST", path, body, content_type=content_type)
        assert answer.status_code in {status, 401}
        assert json_of(answer)["error"]


def test_parameters_in_the_url_are_refused(cast: Cast) -> None:
    answer = token_request({}, "/oauth/token?grant_type=refresh_token&refresh_token=%zz")

    assert error_of(answer) == "invalid_request"


def test_an_address_that_asks_too_often_waits(cast: Cast, settings: Any) -> None:
    settings.OAUTH_TOKEN_PER_MINUTE = 2
    http = Client(REMOTE_ADDR="192.0.2.77")

    answers = [http.post("/oauth/token") for _ in range(4)]

    assert [answer.status_code for answer in answers] == [400, 400, 429, 429]
    seconds = answers[-1]["Retry-After"]
    assert 1 <= int(seconds) <= 60
    assert json_of(answers[-1]) == {
        "error": "temporarily_unavailable",
        "error_description": f"Too many requests; wait {seconds} s.",
    }
    assert Client(REMOTE_ADDR="192.0.2.78").post("/oauth/token").status_code == 400
