"""Any request of a program with a token gets a SCIM answer, no error 500, and nothing of another account."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Membership
from tests.accounts.sso.scim.client import GROUP, PATCH, USER, Scim
from tests.cast import Cast
from tests.examples import examples

quick = settings(
    max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(
    [
        *("userName", "externalId", "name", "displayName", "active", "emails", "members", "schemas", "id"),
        *("groups", "meta", "name.givenName", 'emails[type eq "work"].value', 'members[value eq "x"]', ""),
    ]
)
paths = names | st.text(max_size=30)
operations = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "Replace", "remove", "x"])}, optional={"path": paths, "value": values}
)
bodies = st.one_of(
    st.dictionaries(names, values, max_size=6).map(lambda body: {"schemas": [USER]} | body),
    st.dictionaries(names, values, max_size=6).map(
        lambda body: {"schemas": [GROUP], "displayName": "G"} | body
    ),
    st.lists(operations, max_size=3).map(lambda each: {"schemas": [PATCH], "Operations": each}),
    values,
)
filters = st.text(max_size=60) | st.tuples(
    names,
    st.sampled_from(["eq", "ne", "co", "sw", "ew", "gt", "le", "pr"]),
    values.map(lambda value: json.dumps(value)),
).map(" ".join)


def check(answer: Any) -> None:
    assert answer.status_code < 500, answer.content
    if answer.status_code >= 400:
        assert answer.json()["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]


@quick
@given(method=st.sampled_from(["POST", "PUT", "PATCH"]), body=bodies)
def test_no_body_is_a_fault(cast: Cast, scim: Scim, method: str, body: Any) -> None:
    user = scim.get("Users")["Resources"] or [scim.create_user("owner")]
    group = scim.get("Groups")["Resources"] or [scim.create_group("Everyone", user[0]["id"])]
    for path in (
        ("Users", "Groups")
        if method == "POST"
        else (
            f"Users/{user[0]['id']}",
            f"Groups/{group[0]['id']}",
        )
    ):
        check(scim.ask(method, path, json.dumps(body)))
    assert Membership.objects.filter(account=cast.account, user=cast.owner, role="owner").exists()
    assert Membership.objects.filter(account=cast.other_account).count() == 2


@quick
@given(expression=filters, count=st.integers() | st.text(max_size=5), attributes=paths)
def test_no_question_is_a_fault(
    cast: Cast, scim: Scim, expression: str, count: int | str, attributes: str
) -> None:
    if not scim.get("Users?count=0")["totalResults"]:
        scim.create_group("Everyone", scim.create_user("ann")["id"])
    for path in ("Users", "Groups"):
        check(scim.ask("GET", f"{path}?filter={quote(expression, errors='replace')}&count=1"))
        check(scim.ask("GET", f"{path}?count={quote(str(count), errors='replace')}"))
        check(scim.ask("GET", f"{path}?attributes={quote(attributes, errors='replace')}"))
        check(scim.ask("POST", f"{path}/.search", json.dumps({"filter": expression, "count": count})))


@quick
@given(content=st.binary(max_size=200))
def test_no_bytes_are_a_fault(cast: Cast, scim: Scim, content: bytes) -> None:
    check(scim.ask("POST", "Users", content))


@pytest.mark.parametrize("path", ["", "Nothing", "Bulk", "Me", "Users/x/y"])
def test_an_unknown_path_is_not_found(cast: Cast, scim: Scim, path: str) -> None:
    assert scim.refuse(404, "GET", path)[0] == ""


@pytest.mark.parametrize("path", ["x", "x/Users", "6b5d6a3c-7d3b-4f0b-8bb1-1a2f9cbf2f1c/Users"])
def test_a_path_of_no_provider_says_nothing(cast: Cast, scim: Scim, path: str) -> None:
    for headers in ({}, {"authorization": f"Bearer {scim.token}"}):
        assert Client().get(f"/scim/v2/{path}", headers=headers).status_code == 401


def test_methods_that_there_are_not_are_refused(cast: Cast, scim: Scim) -> None:
    scim.refuse(405, "DELETE", "Users")
    scim.refuse(405, "POST", "ServiceProviderConfig")


def test_a_body_has_a_limit(cast: Cast, scim: Scim) -> None:
    body = {"schemas": [USER], "userName": "ann@example.com", "displayName": "x" * 1024**2}

    assert "1,048,576 bytes" in scim.refuse(413, "POST", "Users", body)[1]


def test_requests_have_a_limit(cast: Cast, scim: Scim, settings: Any) -> None:
    settings.SCIM_RATE_LIMIT_PER_MINUTE = 2

    statuses = [scim.ask("GET", "Users?count=0").status_code for _ in range(3)]
    answer = scim.ask("GET", "Users?count=0")

    assert statuses == [200, 200, 429]
    assert int(answer["retry-after"]) > 0
    assert answer.json()["status"] == "429"
