"""How Entra ID and Okta write what RFC 7644 writes otherwise, by their own documentation:
learn.microsoft.com/entra/identity/app-provisioning/application-provisioning-config-problem-scim-compatibility and
developer.okta.com/docs/api/openapi/okta-scim/guides/scim-20/."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import Membership
from tests.accounts.sso.scim.client import ENTERPRISE, PATCH, USER, Scim
from tests.cast import Cast


def patch_user(scim: Scim, user: Any, *operations: dict[str, Any]) -> Any:
    return scim.patch(f"Users/{user['id']}", *operations)


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "Replace", "path": "active", "value": "False"},
        {"op": "replace", "path": "active", "value": "false"},
        {"op": "Replace", "value": {"active": "False"}},
        {"op": "replace", "value": {"active": False}},
        {"op": "Add", "path": "active", "value": "False"},
        {"op": "replace", "path": f"{USER}:active", "value": False},
    ],
    ids=str,
)
def test_deactivation_in_every_spelling(cast: Cast, scim: Scim, operation: dict[str, Any]) -> None:
    user = patch_user(scim, scim.create_user("ann"), operation)

    assert user["active"] is False
    assert not Membership.objects.filter(account=cast.account, user__email="ann@example.com").exists()


def test_entra_id_adds_values_whose_paths_match_nothing_yet(cast: Cast, scim: Scim) -> None:
    user = patch_user(
        scim,
        scim.create_user("ann"),
        {"op": "Add", "path": "externalId", "value": "e1"},
        {"op": "Add", "path": 'emails[type eq "work"].value', "value": "ann@example.com"},
        {"op": "Add", "path": "name.givenName", "value": "Ann"},
        {"op": "Replace", "path": "displayName", "value": "Ann Lee"},
    )

    assert (user["externalId"], user["name"], user["displayName"]) == ("e1", {"givenName": "Ann"}, "Ann Lee")
    assert user["emails"] == [{"type": "work", "value": "ann@example.com"}]


def test_entra_id_sends_attributes_without_a_path_by_their_dotted_names(cast: Cast, scim: Scim) -> None:
    user = patch_user(
        scim,
        scim.create_user("ann"),
        {
            "op": "Add",
            "value": {"name.familyName": "Lee", "displayName": "Ann", f"{ENTERPRISE}:department": "Sales"},
        },
    )

    assert (user["name"]["familyName"], user["displayName"]) == ("Lee", "Ann")


def test_attributes_that_are_not_stored_are_ignored(cast: Cast, scim: Scim) -> None:
    user = scim.create(
        "Users",
        schemas=[USER, ENTERPRISE],
        userName="ann@example.com",
        roles=[],
        locale="en-US",
        phoneNumbers=[{"value": "1", "type": "mobile"}],
        **{ENTERPRISE: {"department": "Sales", "manager": {"value": "x"}}},
    )

    same = patch_user(
        scim,
        user,
        {"op": "Replace", "path": f"{ENTERPRISE}:department", "value": "R&D"},
        {"op": "Add", "path": 'phoneNumbers[type eq "work"].value', "value": "2"},
        {"op": "Replace", "path": "title", "value": "Boss"},
    )

    assert same | {"schemas": 0} == user | {"schemas": 0}


def test_entra_id_adds_and_removes_members_one_way_and_another(cast: Cast, scim: Scim) -> None:
    ann, bob, cy = (scim.create_user(name)["id"] for name in ("ann", "bob", "cy"))
    path = f"Groups/{scim.create_group('FinOps')['id']}"

    def members(*operations: dict[str, Any]) -> set[str]:
        return {each["value"] for each in scim.patch(path, *operations).get("members", [])}

    added = members(
        {"op": "Add", "path": "members", "value": [{"$ref": None, "value": ann}, {"value": bob}]},
        {"op": "Add", "path": "members", "value": [{"value": cy}]},
    )
    again = members({"op": "Add", "path": "members", "value": [{"value": cy}]})
    removed = members({"op": "Remove", "path": "members", "value": [{"$ref": None, "value": ann}]})
    filtered = members({"op": "Remove", "path": f'members[value eq "{bob}"]'})
    absent = members({"op": "Remove", "path": f'members[value eq "{bob}"]'})
    emptied = members({"op": "Remove", "path": "members"})

    assert (added, again, removed) == ({ann, bob, cy}, {ann, bob, cy}, {bob, cy})
    assert (filtered, absent, emptied) == ({cy}, {cy}, set())


def test_okta_renames_a_group_with_its_id_in_the_value(cast: Cast, scim: Scim) -> None:
    group = scim.create_group("FinOps")

    renamed = scim.patch(
        f"Groups/{group['id']}", {"op": "replace", "value": {"id": group["id"], "displayName": "FinOps EU"}}
    )

    assert renamed["displayName"] == "FinOps EU"


def test_okta_replaces_a_user_with_everything_that_it_was_given(cast: Cast, scim: Scim) -> None:
    user = scim.create_user("ann", name={"givenName": "Ann"}, displayName="Ann")
    scim.create_group("FinOps", user["id"])
    whole = scim.get(f"Users/{user['id']}")

    answer = scim.ask("PUT", f"Users/{user['id']}", whole | {"active": False, "password": "x"})

    assert (answer.status_code, answer.json()["active"]) == (200, False)


def test_entra_id_tests_the_connection_with_a_user_who_is_not_there(cast: Cast, scim: Scim) -> None:
    users = scim.find("Users", 'userName eq "6b5d6a3c-7d3b-4f0b-8bb1-1a2f9cbf2f1c"')

    assert (users["totalResults"], users["Resources"]) == (0, [])


@pytest.mark.parametrize(
    "body",
    [
        {"schemas": [PATCH], "Operations": []},
        {"schemas": [PATCH]},
        {"schemas": [PATCH], "Operations": [{"op": "move", "path": "active", "value": True}]},
        {"schemas": [PATCH], "Operations": [{"op": "replace", "path": "active", "value": "maybe"}]},
        {"schemas": [PATCH], "Operations": [{"op": "replace", "path": "userName[", "value": "x"}]},
        {"schemas": [PATCH], "Operations": [{"op": "remove", "path": "userName"}]},
        {"schemas": [PATCH], "Operations": [{"op": "replace", "path": "id", "value": "x"}]},
        [],
        "{",
        "null",
        '{"schemas": ["\\u0000"]}',
        "[" * 100_000,
    ],
    ids=lambda body: str(body)[:60],
)
def test_a_patch_that_means_nothing_is_refused_and_changes_nothing(cast: Cast, scim: Scim, body: Any) -> None:
    user = scim.create_user("ann")

    kind, detail = scim.refuse(400, "PATCH", f"Users/{user['id']}", body)

    assert kind in {"invalidSyntax", "invalidValue", "invalidPath", "mutability", "noTarget"}
    assert detail
    assert scim.get(f"Users/{user['id']}") == user
