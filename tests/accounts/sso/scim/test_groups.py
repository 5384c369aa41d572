"""Groups that a provider pushes, as roles and teams of the account."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEntry, Membership, Role, User
from accounts.scoping import account_scope
from accounts.sso.claims import Claims
from accounts.sso.models import ScimUser
from accounts.sso.sign_in import person_of
from finops.allocation.models import TeamMember
from finops.allocation.services.teams import create_team
from tests.accounts.sso.scim.client import GROUP, PATCH, Scim, create_scim
from tests.accounts.sso.test_groups import add_mapping, role_of, teams_of
from tests.cast import ACTOR, Cast


def test_members_of_a_pushed_group_have_its_role_and_team_at_once(cast: Cast, scim: Scim) -> None:
    add_mapping(cast, "FinOps", role=Role.ADMIN)
    add_mapping(cast, "Core", team=create_team(account=cast.account, actor=ACTOR, name="Core team"))
    ann, bob = scim.create_user("ann"), scim.create_user("bob")

    group = scim.create_group("finops", ann["id"], externalId="g1")
    scim.create_group("Core", ann["id"], bob["id"])

    people = [User.objects.get(email=f"{name}@example.com") for name in ("ann", "bob")]
    assert [role_of(cast, person) for person in people] == ["admin", "viewer"]
    assert [teams_of(cast, person) for person in people] == [["Core team"], ["Core team"]]
    assert (group["displayName"], group["externalId"]) == ("finops", "g1")
    assert [member["value"] for member in group["members"]] == [ann["id"]]
    assert [each["display"] for each in scim.get(f"Users/{ann['id']}")["groups"]] == ["finops", "Core"]


def test_a_mapping_may_name_the_external_id_of_a_group(cast: Cast, scim: Scim) -> None:
    add_mapping(cast, "0f3a-object-id", role=Role.MEMBER)

    scim.create_group("Engineers", scim.create_user("ann")["id"], externalId="0f3a-object-id")

    assert role_of(cast, User.objects.get(email="ann@example.com")) == "member"


def test_roles_fall_with_the_group_its_name_and_the_membership(cast: Cast, scim: Scim) -> None:
    add_mapping(cast, "FinOps", role=Role.ADMIN)
    ann = scim.create_user("ann")
    person = User.objects.get(email="ann@example.com")
    group = scim.create_group("FinOps", ann["id"])
    path, roles = f"Groups/{group['id']}", [role_of(cast, person)]

    scim.patch(path, {"op": "replace", "path": "displayName", "value": "Other"})
    roles.append(role_of(cast, person))
    scim.patch(path, {"op": "replace", "value": {"id": group["id"], "displayName": "FinOps"}})
    roles.append(role_of(cast, person))
    scim.patch(path, {"op": "remove", "path": f'members[value eq "{ann["id"]}"]'})
    roles.append(role_of(cast, person))
    scim.patch(path, {"op": "add", "path": "members", "value": [{"value": ann["id"]}]})
    roles.append(role_of(cast, person))
    assert scim.ask("DELETE", path).status_code == 204
    roles.append(role_of(cast, person))

    assert roles == ["admin", "viewer", "admin", "viewer", "admin", "viewer"]


def test_the_owner_stays_owner_in_whatever_group(cast: Cast, scim: Scim) -> None:
    add_mapping(cast, "Everyone", role=Role.VIEWER)

    scim.create_group("Everyone", scim.create_user("owner")["id"])

    assert role_of(cast, cast.owner) == "owner"


def test_a_returning_member_gets_the_role_of_her_groups(cast: Cast, scim: Scim) -> None:
    add_mapping(cast, "FinOps", role=Role.ADMIN)
    ann = scim.create_user("ann")
    scim.create_group("FinOps", ann["id"])

    for active in (False, True):
        scim.patch(f"Users/{ann['id']}", {"op": "replace", "path": "active", "value": active})

    assert role_of(cast, User.objects.get(email="ann@example.com")) == "admin"


def test_pushed_groups_count_before_those_of_a_sign_in(cast: Cast, scim: Scim) -> None:
    add_mapping(cast, "FinOps", role=Role.ADMIN)
    add_mapping(cast, "Sales", role=Role.MEMBER)
    scim.create_group("FinOps", scim.create_user("ann")["id"])

    person_of(provider=scim.provider, claims=Claims("s", "ann@example.com", True, "Ann", groups=["Sales"]))

    assert role_of(cast, User.objects.get(email="ann@example.com")) == "admin"


def test_members_are_users_of_the_same_provider(cast: Cast, scim: Scim) -> None:
    other = create_scim(cast.other_account, "other.com", name="Other")
    stranger = other.create(
        "Users", schemas=["urn:ietf:params:scim:schemas:core:2.0:User"], userName="x@other.com"
    )

    for value in (stranger["id"], str(uuid.uuid4()), "x", ""):
        body = {"schemas": [GROUP], "displayName": "G", "members": [{"value": value}]}
        assert scim.refuse(400, "POST", "Groups", body)[0] == "invalidValue"
    nested = {"schemas": [GROUP], "displayName": "G", "members": [{"value": "x", "type": "Group"}]}
    assert "Groups within groups" in scim.refuse(400, "POST", "Groups", nested)[1]
    assert scim.get("Groups")["totalResults"] == 0


def test_a_group_of_another_account_is_not_found(cast: Cast, scim: Scim) -> None:
    group = scim.create_group("FinOps")
    other = create_scim(cast.other_account, "other.com", name="Other")

    for method in ("GET", "PUT", "PATCH", "DELETE"):
        body = {"schemas": [GROUP], "displayName": "Taken"} if method == "PUT" else _rename("Taken")
        answer = other.ask(method, f"Groups/{group['id']}", body if method in ("PUT", "PATCH") else None)
        assert answer.status_code == 404
    assert scim.get(f"Groups/{group['id']}")["displayName"] == "FinOps"


def _rename(name: str) -> object:
    return {
        "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
        "Operations": [{"op": "replace", "path": "displayName", "value": name}],
    }


def test_a_group_is_found_by_name_and_its_members_may_be_left_out(cast: Cast, scim: Scim) -> None:
    ann = scim.create_user("ann")
    scim.create_group("FinOps", ann["id"])
    scim.create_group("Sales")

    by_name = scim.find("Groups", 'displayName eq "finops"', excludedAttributes="members")
    by_member = scim.find("Groups", f'members[value eq "{ann["id"]}"]')
    group_id = by_member["Resources"][0]["id"]
    as_entra_asks = f'id eq "{group_id}" and members.value eq "{ann["id"]}"'

    assert [each["displayName"] for each in by_name["Resources"]] == ["FinOps"]
    assert "members" not in by_name["Resources"][0]
    assert [each["displayName"] for each in by_member["Resources"]] == ["FinOps"]
    assert scim.find("Groups", as_entra_asks)["totalResults"] == 1
    bob = scim.create_user("bob")
    scim.patch(f"Groups/{group_id}", {"op": "add", "path": "members", "value": [{"value": bob["id"]}]})
    both = f'members.value eq "{ann["id"]}" and members.value eq "{bob["id"]}"'
    assert scim.find("Groups", both)["totalResults"] == 1
    assert scim.find("Groups", 'members.value eq "x"')["totalResults"] == 0


def test_a_name_that_exists_is_a_conflict(cast: Cast, scim: Scim) -> None:
    scim.create_group("FinOps")

    assert (
        scim.refuse(409, "POST", "Groups", {"schemas": [GROUP], "displayName": "finops"})[0] == "uniqueness"
    )


def test_changes_by_a_provider_are_in_the_audit_log(cast: Cast, scim: Scim) -> None:
    ann = scim.create_user("ann")
    group = scim.create_group("FinOps", ann["id"])
    scim.ask("DELETE", f"Groups/{group['id']}")

    with account_scope(cast.account):
        rows = AuditEntry.objects.filter(action__startswith="scim_group").order_by("pk")
        assert [(row.action, row.actor_label, row.target, row.detail) for row in rows] == [
            ("scim_group.create", "SCIM Okta", "FinOps", {"members_added": 1}),
            ("scim_group.delete", "SCIM Okta", "FinOps", {"members_removed": 1}),
        ]


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_replacing_members_adds_and_removes(cast: Cast, scim: Scim, method: str) -> None:
    ann, bob = scim.create_user("ann"), scim.create_user("bob")
    group = scim.create_group("FinOps", ann["id"])
    members = [{"value": bob["id"]}]
    body = {"schemas": [GROUP], "displayName": "FinOps", "members": members}
    patch = {
        "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
        "Operations": [{"op": "replace", "path": "members", "value": members}],
    }

    answer = scim.ask(method, f"Groups/{group['id']}", body if method == "PUT" else patch).json()

    assert [each["value"] for each in answer["members"]] == [bob["id"]]


def provisioned_people(scim: Scim, cast: Cast, prefix: str, count: int) -> list[str]:
    """IDs of so many users who are members, stored at once."""
    people = User.objects.bulk_create(
        User(email=f"{prefix}{n}@example.com", password="!") for n in range(count)
    )
    Membership.objects.bulk_create(
        Membership(account=cast.account, user=user, role=Role.VIEWER) for user in people
    )
    with account_scope(cast.account):
        rows = ScimUser.objects.bulk_create(
            ScimUser(account=cast.account, provider=scim.provider, user=user, user_name=user.email)
            for user in people
        )
    return [str(row.public_id) for row in rows]


def queries_of_a_group(scim: Scim, cast: Cast, prefix: str, count: int) -> list[int]:
    """Of creating it with so many members, renaming it, removing one, and deleting it."""
    ids, counts = provisioned_people(scim, cast, prefix, count), []

    def count_queries(ask: Callable[[], Any]) -> Any:
        with CaptureQueriesContext(connection) as queries:
            answer = ask()
        counts.append(len(queries))
        return answer

    path = f"Groups/{count_queries(lambda: scim.create_group('FinOps', *ids, externalId='core'))['id']}"
    with account_scope(cast.account):
        assert TeamMember.objects.filter(membership__role=Role.ADMIN).count() == count
    count_queries(
        lambda: scim.patch(path, {"op": "replace", "value": {"displayName": "Other", "externalId": "x"}})
    )
    with account_scope(cast.account):
        assert not TeamMember.objects.exists()
    scim.patch(path, {"op": "replace", "value": {"displayName": "FinOps", "externalId": "core"}})
    count_queries(lambda: scim.patch(path, {"op": "remove", "path": f'members[value eq "{ids[0]}"]'}))
    count_queries(lambda: scim.ask("DELETE", path))
    with account_scope(cast.account):
        assert not TeamMember.objects.exists()
        assert AuditEntry.objects.filter(action="team_member.remove").count() == 2 * count
        AuditEntry.objects.all().delete()
    return counts


def test_a_group_of_200_takes_as_many_queries_as_one_of_10(cast: Cast, scim: Scim) -> None:
    add_mapping(cast, "FinOps", role=Role.ADMIN)
    add_mapping(cast, "core", team=create_team(account=cast.account, actor=ACTOR, name="Core team"))

    few, many = (queries_of_a_group(scim, cast, f"{n}-", n) for n in (10, 200))

    assert few == many


@pytest.mark.parametrize(
    "operations",
    [
        lambda ids: [{"op": "add", "path": "members", "value": [{"value": each} for each in ids]}],
        lambda ids: [{"op": "Remove", "path": "members", "value": [{"value": each} for each in ids]}],
        lambda ids: [
            {
                "op": "replace",
                "path": "members",
                "value": [{"value": each} for each in ids[len(ids) // 4 : -2]],
            }
        ],
        lambda ids: [{"op": "remove", "path": f'members[value eq "{each}"]'} for each in ids],
        lambda ids: [{"op": "add", "path": "members", "value": [{"value": each}]} for each in ids],
    ],
    ids=["add", "remove by value", "replace", "remove one by one", "add one by one"],
)
def test_many_members_are_patched_in_time_and_queries_of_few(
    cast: Cast, scim: Scim, operations: Callable[[list[str]], list[dict[str, Any]]]
) -> None:
    """Other writes of the provider wait meanwhile."""
    add_mapping(cast, "FinOps", role=Role.ADMIN)
    seconds, counts = [], []
    for count in (10, 300):
        ids = provisioned_people(scim, cast, f"{count}-", count)
        group = scim.create_group(f"Group of {count}", *ids[: count // 2])
        begin = time.process_time()
        with CaptureQueriesContext(connection) as queries:
            scim.patch(f"Groups/{group['id']}?attributes=displayName", *operations(ids))
        seconds.append(time.process_time() - begin)
        counts.append(len(queries))

    assert counts[0] == counts[1]
    assert seconds[1] < seconds[0] + 2


def test_members_are_patched_as_one_operation_after_the_other_says(cast: Cast, scim: Scim) -> None:
    ann, bob, cy = (scim.create_user(name)["id"] for name in ("ann", "bob", "cy"))
    group = scim.create_group("FinOps", ann)

    changed = scim.patch(
        f"Groups/{group['id']}",
        {"op": "add", "path": "members", "value": [{"value": bob, "display": "Bob"}]},
        {"op": "replace", "path": "displayName", "value": "Core"},
        {"op": "remove", "path": f'members[value eq "{ann}"]'},
        {"op": "Add", "path": "Members", "value": [{"value": cy.upper()}, {"value": cy}]},
        {"op": "add", "value": {"members": [{"value": ann}]}},
        {"op": "remove", "path": "members", "value": [{"value": cy}]},
    )

    assert changed["displayName"] == "Core"
    assert {each["value"] for each in changed["members"]} == {ann, bob}


def test_a_patch_of_many_operations_of_another_kind_is_refused(cast: Cast, scim: Scim) -> None:
    group = scim.create_group("FinOps")
    operations = [{"op": "replace", "path": "displayName", "value": f"Group {n}"} for n in range(101)]
    body = {"schemas": [PATCH], "Operations": operations}

    kind, detail = scim.refuse(400, "PATCH", f"Groups/{group['id']}", body)

    assert (kind, "at most 100 operations" in detail) == ("invalidValue", True)
