from __future__ import annotations

import pytest

from accounts.models import Membership, Role
from tests.cast import Cast, signed_in

LIST = "/a/acme/settings/members/"
INVITE = f"{LIST}invite/"


def membership(cast: Cast, name: str) -> Membership:
    return Membership.objects.get(account=cast.account, user=cast.person(name))


def role_of(cast: Cast, name: str) -> str | None:
    row = Membership.objects.filter(account=cast.account, user=cast.person(name)).first()
    return row.role if row else None


def test_everybody_sees_who_is_in_and_only_admins_the_buttons(cast: Cast) -> None:
    viewer, admin = (signed_in(user).get(LIST).content.decode() for user in (cast.viewer, cast.admin))

    assert cast.owner.email in viewer
    assert cast.stranger.email not in viewer
    assert "Invite a member" not in viewer
    assert "Invite a member" in admin


def test_an_admin_changes_and_removes_members(cast: Cast) -> None:
    client = signed_in(cast.admin)

    client.post(f"{LIST}{membership(cast, 'viewer').pk}/role/", {"role": "member"})
    client.post(f"{LIST}{membership(cast, 'member').pk}/remove/")

    assert role_of(cast, "viewer") == "member"
    assert role_of(cast, "member") is None


def test_an_admin_can_neither_make_nor_unmake_an_owner(cast: Cast) -> None:
    client = signed_in(cast.admin)

    answers = [
        client.post(f"{LIST}{membership(cast, 'admin').pk}/role/", {"role": "owner"}),
        client.post(f"{LIST}{membership(cast, 'owner').pk}/role/", {"role": "viewer"}),
        client.post(f"{LIST}{membership(cast, 'owner').pk}/remove/"),
        client.post(INVITE, {"email": "newcomer@example.com", "role": "owner"}),
    ]

    assert [answer.status_code for answer in answers] == [302, 302, 302, 422]
    assert (role_of(cast, "owner"), role_of(cast, "admin")) == ("owner", "admin")


def test_the_owner_stays(cast: Cast) -> None:
    client = signed_in(cast.owner)

    page = client.post(f"{LIST}{membership(cast, 'owner').pk}/remove/", follow=True).content.decode()
    other = client.post(f"{LIST}{membership(cast, 'admin').pk}/role/", {"role": "owner"}, follow=True)

    assert "The owner cannot be removed. Transfer ownership first." in page
    assert "Choose a role from the list." in other.content.decode()
    assert 'value="owner"' not in page
    assert (role_of(cast, "owner"), role_of(cast, "admin")) == (Role.OWNER, "admin")


@pytest.mark.parametrize("name", ["viewer", "member"])
def test_members_who_are_not_admins_cannot_change_members(cast: Cast, name: str) -> None:
    client = signed_in(cast.person(name))

    assert client.post(INVITE, {"email": cast.stranger.email, "role": "viewer"}).status_code == 403
    assert client.post(f"{LIST}{membership(cast, name).pk}/role/", {"role": "owner"}).status_code == 403
    assert role_of(cast, name) == name


def test_a_member_who_removes_herself_is_redirected(cast: Cast) -> None:
    answer = signed_in(cast.admin).post(f"{LIST}{membership(cast, 'admin').pk}/remove/")

    assert answer.headers["Location"] == "/"
    assert role_of(cast, "admin") is None
