"""Users that a provider creates, changes and deactivates."""

from __future__ import annotations

import pytest
from allauth.account.models import EmailAddress
from django.test import Client

from accounts.models import AuditEntry, Membership, Role, Session, User
from accounts.scoping import account_scope
from accounts.sso.models import IdentityProvider, ScimUser
from tests.accounts.sso.scim.client import PATCH, USER, Scim, create_scim
from tests.cast import Cast, signed_in


def is_member(cast: Cast, email: str) -> bool:
    return Membership.objects.filter(account=cast.account, user__email=email).exists()


def audit_actions(cast: Cast) -> list[str]:
    with account_scope(cast.account):
        return list(
            AuditEntry.objects.filter(actor_label="SCIM Okta").order_by("pk").values_list("action", flat=True)
        )


def deactivate(scim: Scim, user_id: str) -> None:
    scim.patch(f"Users/{user_id}", {"op": "replace", "path": "active", "value": False})


def test_a_created_user_is_a_member_with_the_default_role_and_has_no_password(cast: Cast, scim: Scim) -> None:
    answer = scim.ask(
        "POST",
        "Users",
        {
            "schemas": [USER],
            "userName": "Ann@Example.com",
            "externalId": "00u1",
            "name": {"givenName": "Ann", "familyName": "Lee"},
            "emails": [{"value": "Ann@Example.com", "type": "work", "primary": True}],
            "active": True,
            "password": "what Okta sends",
        },
    )

    user = answer.json()
    membership = Membership.objects.select_related("user").get(
        account=cast.account, user__email="ann@example.com"
    )
    assert (answer.status_code, answer["location"]) == (201, user["meta"]["location"])
    assert (user["userName"], user["externalId"], user["active"]) == ("Ann@Example.com", "00u1", True)
    assert (membership.role, membership.user.name) == (Role.VIEWER, "Ann Lee")
    assert not membership.user.has_usable_password()
    assert "password" not in user
    assert audit_actions(cast) == ["scim_user.create", "member.add"]
    assert scim.get(f"Users/{user['id']}") == user


def test_an_inactive_user_is_created_without_a_membership(cast: Cast, scim: Scim) -> None:
    user = scim.create_user("ann", active=False)

    assert (user["active"], is_member(cast, "ann@example.com")) == (False, False)


def test_a_member_of_before_is_linked_and_keeps_role_name_and_sessions(cast: Cast, scim: Scim) -> None:
    client = signed_in(cast.admin)

    user = scim.create_user("admin", displayName="Somebody Else")

    cast.admin.refresh_from_db()
    assert (user["active"], cast.admin.name) == (True, "Admin")
    assert Membership.objects.get(account=cast.account, user=cast.admin).role == Role.ADMIN
    assert client.get("/a/acme/").status_code == 200


@pytest.mark.parametrize("email", ["ann@elsewhere.com", "ann@sub.example.com", "ann@example.com.evil.com"])
def test_an_address_of_a_domain_that_is_not_verified_is_refused(cast: Cast, scim: Scim, email: str) -> None:
    kind, detail = scim.refuse(400, "POST", "Users", {"schemas": [USER], "userName": email})

    assert (kind, "is not a verified domain of Okta" in detail) == ("invalidValue", True)
    assert not User.objects.filter(email=email).exists()


def test_the_address_is_the_primary_email_before_the_user_name(cast: Cast, scim: Scim) -> None:
    scim.create(
        "Users",
        schemas=[USER],
        userName="ann.upn",
        emails=[
            {"value": "home@example.com", "type": "home"},
            {"value": "ann@example.com", "type": "work", "primary": True},
        ],
    )

    assert is_member(cast, "ann@example.com")


def test_a_user_name_or_person_that_exists_is_a_conflict(cast: Cast, scim: Scim) -> None:
    scim.create_user("ann")

    same = {"schemas": [USER], "userName": "ANN@example.com"}
    other = {"schemas": [USER], "userName": "ann2", "emails": [{"value": "ann@example.com"}]}

    assert scim.refuse(409, "POST", "Users", same)[0] == "uniqueness"
    assert scim.refuse(409, "POST", "Users", other)[0] == "uniqueness"


def test_deactivation_removes_the_membership_and_ends_sessions(cast: Cast, scim: Scim) -> None:
    user, client = scim.create_user("viewer"), signed_in(cast.viewer)

    deactivate(scim, user["id"])

    assert (scim.get(f"Users/{user['id']}")["active"], is_member(cast, "viewer@example.com")) == (
        False,
        False,
    )
    assert not Session.objects.filter(user=cast.viewer).exists()
    assert client.get("/a/acme/").status_code == 302
    assert audit_actions(cast)[-2:] == ["member.remove", "member.end_sessions"]


def test_a_user_comes_back_with_the_default_role(cast: Cast, scim: Scim) -> None:
    IdentityProvider.objects.update(default_role=Role.MEMBER)
    user = scim.create_user("admin")
    deactivate(scim, user["id"])

    for _twice in range(2):
        scim.patch(f"Users/{user['id']}", {"op": "replace", "path": "active", "value": True})

    assert Membership.objects.get(account=cast.account, user=cast.admin).role == Role.MEMBER


def test_a_member_of_other_accounts_stays_there(cast: Cast, scim: Scim) -> None:
    user, client = scim.create_user("both"), signed_in(cast.both)

    answer = scim.ask("DELETE", f"Users/{user['id']}")

    assert answer.status_code == 204
    assert not is_member(cast, "both@example.com")
    assert client.get("/a/elsewhere/").status_code == 200
    assert client.get("/a/acme/").status_code == 404
    assert scim.refuse(404, "GET", f"Users/{user['id']}")[0] == ""


@pytest.mark.parametrize(
    ("method", "body"),
    [
        ("DELETE", None),
        (
            "PATCH",
            {"schemas": [PATCH], "Operations": [{"op": "replace", "path": "active", "value": False}]},
        ),
        ("PUT", {"schemas": [USER], "userName": "owner@example.com", "active": False}),
    ],
)
def test_the_owner_is_protected(cast: Cast, scim: Scim, method: str, body: object) -> None:
    user = scim.create_user("owner")

    kind, detail = scim.refuse(403, method, f"Users/{user['id']}", body)

    assert (kind, "Transfer ownership first" in detail) == ("", True)
    assert Membership.objects.get(account=cast.account, user=cast.owner).role == Role.OWNER
    assert scim.get(f"Users/{user['id']}")["active"] is True


def test_replacing_a_user_changes_what_is_sent_and_leaves_her_active(cast: Cast, scim: Scim) -> None:
    user = scim.create_user("ann", displayName="Ann Lee", externalId="e1")

    answer = scim.ask(
        "PUT",
        f"Users/{user['id']}",
        {"schemas": [USER], "userName": "ann@example.com", "displayName": "Ann Cole"},
    )

    assert (answer.json()["displayName"], answer.json()["active"]) == ("Ann Cole", True)
    assert "externalId" not in answer.json()
    assert User.objects.get(email="ann@example.com").name == "Ann Cole"


def test_a_name_that_she_chose_herself_stays(cast: Cast, scim: Scim) -> None:
    user = scim.create_user("ann", displayName="Ann Lee")
    User.objects.filter(email="ann@example.com").update(name="Annie")

    scim.patch(f"Users/{user['id']}", {"op": "replace", "path": "displayName", "value": "Ann Cole"})

    assert User.objects.get(email="ann@example.com").name == "Annie"


def test_a_new_address_follows_where_she_belongs_nowhere_else(cast: Cast, scim: Scim) -> None:
    user = scim.create_user("ann")
    person = User.objects.get(email="ann@example.com")
    EmailAddress.objects.create(user=person, email=person.email, primary=True, verified=True)

    scim.patch(f"Users/{user['id']}", {"op": "replace", "path": "userName", "value": "cole@example.com"})

    person.refresh_from_db()
    assert person.email == "cole@example.com"
    assert list(EmailAddress.objects.filter(user=person).values_list("email", "verified")) == [
        ("cole@example.com", True)
    ]


@pytest.mark.parametrize("name", ["both", "owner"])
def test_the_address_of_who_belongs_elsewhere_or_owns_the_account_stays(
    cast: Cast, scim: Scim, name: str
) -> None:
    user = scim.create_user(name)

    changed = scim.patch(
        f"Users/{user['id']}", {"op": "replace", "path": "userName", "value": "new@example.com"}
    )

    assert changed["userName"] == "new@example.com"
    assert User.objects.filter(email=f"{name}@example.com").exists()


@pytest.mark.parametrize("name", ["both", "owner"])
def test_the_name_of_who_belongs_elsewhere_or_owns_the_account_stays(
    cast: Cast, scim: Scim, name: str
) -> None:
    """Members of other companies read it."""
    person = User.objects.get(email=f"{name}@example.com")
    user = scim.create_user(name, displayName=person.name)

    scim.patch(f"Users/{user['id']}", {"op": "replace", "path": "displayName", "value": "Somebody else"})

    assert User.objects.get(pk=person.pk).name == person.name


def test_an_operator_keeps_password_name_and_address(cast: Cast, scim: Scim) -> None:
    """`createsuperuser` verifies no address: she did not sign up and wait for whom it belongs to."""
    operator = User.objects.create_superuser("ops@example.com", "a long enough secret", name="")
    client = signed_in(operator)

    user = scim.create_user("ops", displayName="Ann")
    for path, value in (("displayName", "Bob"), ("userName", "mine@example.com")):
        scim.patch(f"Users/{user['id']}", {"op": "replace", "path": path, "value": value})

    operator.refresh_from_db()
    assert operator.check_password("a long enough secret")
    assert (operator.name, operator.email) == ("", "ops@example.com")
    assert client.get("/admin/").status_code == 200


def test_an_address_of_another_person_is_a_conflict(cast: Cast, scim: Scim) -> None:
    user = scim.create_user("ann")
    patch = {
        "schemas": [PATCH],
        "Operations": [{"op": "replace", "path": "userName", "value": "stranger@example.com"}],
    }

    assert scim.refuse(409, "PATCH", f"Users/{user['id']}", patch)[0] == "uniqueness"
    assert User.objects.filter(email="ann@example.com").exists()


def test_a_sign_up_without_a_verified_address_is_reset_by_its_owner(cast: Cast, scim: Scim) -> None:
    squatter = User.objects.create_user("ann@example.com", "a long enough secret", name="Squatter")
    client = signed_in(squatter)

    scim.create_user("ann", displayName="Ann")

    squatter.refresh_from_db()
    assert (squatter.has_usable_password(), is_member(cast, "ann@example.com")) == (False, True)
    assert client.get("/a/acme/").status_code == 302


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ('userName eq "ANN@example.com"', ["ann"]),
        ('externalId eq "e2"', ["bob"]),
        ('externalId eq "E2"', []),
        ('userName eq "ann@example.com" or externalId eq "e2"', ["ann", "bob"]),
        ('userName eq "ann@example.com" and externalId eq "e2"', []),
        ('name.familyName sw "L"', ["ann"]),
        ("active eq false", ["bob"]),
        ('emails[type eq "work"].value eq "bob@example.com"', ["bob"]),
        ('emails[type eq "work" and value eq "bob@example.com"]', ["bob"]),
        ('emails[value eq "BOB@example.com"] and active eq false', ["bob"]),
        ('emails.value eq "bob@example.com"', ["bob"]),
        ('emails.value eq "ob@example.com"', []),
        ('emails.value eq "bob@example.com" or externalId eq "e1"', ["ann", "bob"]),
        ('not (emails.value eq "bob@example.com")', ["ann", "cy"]),
        ('id eq "x"', []),
        ("not (externalId pr)", ["cy"]),
        ('userName eq "nobody"', []),
    ],
)
def test_users_are_found_by_filter(cast: Cast, scim: Scim, expression: str, names: list[str]) -> None:
    scim.create_user("ann", externalId="e1", name={"familyName": "Lee"})
    scim.create_user(
        "bob", externalId="e2", active=False, emails=[{"value": "bob@example.com", "type": "work"}]
    )
    scim.create_user("cy")

    users = scim.find("Users", expression)

    assert [each["userName"].partition("@")[0] for each in users["Resources"]] == names
    assert users["totalResults"] == len(names)


def test_users_come_in_pages(cast: Cast, scim: Scim) -> None:
    for name in ("ann", "bob", "cy"):
        scim.create_user(name)

    second = scim.get("Users?startIndex=2&count=1")
    none = scim.get("Users?count=0")

    assert [each["userName"] for each in second["Resources"]] == ["bob@example.com"]
    assert (second["totalResults"], second["startIndex"], second["itemsPerPage"]) == (3, 2, 1)
    assert (none["totalResults"], none["Resources"]) == (3, [])
    assert scim.get("Users?startIndex=99999999999999999999")["Resources"] == []


def test_attributes_are_chosen_and_left_out(cast: Cast, scim: Scim) -> None:
    user = scim.create_user("ann", displayName="Ann")

    assert "displayName" not in scim.get(f"Users/{user['id']}?attributes=userName")
    assert "displayName" not in scim.get("Users?excludedAttributes=displayName")["Resources"][0]


@pytest.mark.parametrize("user_id", ["6b5d6a3c-7d3b-4f0b-8bb1-1a2f9cbf2f1c", "x", "a/b", "%00"])
def test_an_unknown_user_is_not_found(cast: Cast, scim: Scim, user_id: str) -> None:
    for method in ("GET", "DELETE"):
        assert scim.ask(method, f"Users/{user_id}").status_code == 404


def test_a_provider_reaches_its_own_users_alone(cast: Cast, scim: Scim) -> None:
    user = scim.create_user("ann")
    other = create_scim(cast.other_account, "other.com", name="Other")

    assert other.get("Users")["totalResults"] == 0
    for method in ("GET", "DELETE"):
        assert other.ask(method, f"Users/{user['id']}").status_code == 404
    body = {"schemas": [USER], "userName": "x@other.com"}
    assert other.ask("PUT", f"Users/{user['id']}", body).status_code == 404
    assert other.ask("GET", f"../{scim.provider.public_id}/Users").status_code in {401, 404}
    assert scim.ask("GET", "Users", token=other.token).status_code == 401
    with account_scope(cast.account):
        assert ScimUser.objects.count() == 1


def test_a_refusal_without_a_token_is_a_scim_error(cast: Cast, scim: Scim) -> None:
    answer = Client().get(f"{scim.base}/Users")

    assert (answer.status_code, answer["www-authenticate"]) == (401, "Bearer")
    assert answer.json()["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]
