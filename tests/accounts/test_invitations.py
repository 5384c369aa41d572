"""Invitations: they reveal no address that has signed up, and require reading the mail and accepting."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.core.mail import EmailMessage
from django.test import Client

from accounts.audit import Actor
from accounts.models import Account, AuditEntry, Invitation, Membership, User
from accounts.services import (
    change_role,
    due_invitations,
    invite,
    remove_member,
    resend_invitation,
    send_invitation,
)
from accounts.services.invitations import PER_DAY
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import PASSWORD, Cast, signed_in

LIST = "/a/acme/settings/members/"
EMAIL = "newcomer@example.com"


@pytest.fixture(autouse=True)
def email_verification(settings: object) -> None:
    """As in production."""
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"  # type: ignore[attr-defined]


def person(email: str, *, verified: bool = True) -> User:
    user = User.objects.create_user(email, PASSWORD)
    EmailAddress.objects.create(user=user, email=email, verified=verified, primary=True)
    return user


def send_invitations() -> str:
    """The path of the newest mail's link, after the worker sent what was due."""
    for account_id, pk in due_invitations():
        assert send_invitation(account=Account.objects.get(pk=account_id), invitation_id=pk)
    match = re.search(r"http\S+?(/accounts/invitations/\S+/)", str(mail.outbox[-1].body))
    assert match
    return match[1]


def invite_and_send(cast: Cast, email: str = EMAIL, role: str = "member") -> str:
    invite(account=cast.account, email=email, role=role, actor=Actor.of_user(cast.admin))
    return send_invitations()


def invitation() -> Invitation:
    return Invitation.objects.unscoped().get()


def is_member(cast: Cast, user: User) -> bool:
    return Membership.objects.filter(account=cast.account, user=user).exists()


def actions() -> list[str]:
    entries = AuditEntry.objects.unscoped().filter(action__startswith="invitation.")
    return list(entries.order_by("pk").values_list("action", flat=True))


def test_the_answer_is_the_same_whether_or_not_the_person_has_signed_up(cast: Cast) -> None:
    client, pages = signed_in(cast.admin), []
    person("known@example.com")
    person("pending@example.com", verified=False)

    for name in ("known", "pending", "nobody"):
        page = client.post(f"{LIST}invite/", {"email": f"{name}@example.com", "role": "viewer"}, follow=True)
        body = re.sub(
            r'(csrfmiddlewaretoken" value|nonce)="?[^"]*"|invitations/\d+', "", page.content.decode()
        )
        pages.append((page.status_code, body.count(f"Invited {name}@example.com as Viewer.")))
        Invitation.objects.unscoped().all().delete()

    assert pages == [(200, 1)] * 3
    assert Membership.objects.filter(account=cast.account).count() == 5


def test_a_signed_in_person_with_that_verified_address_sees_who_invites_to_what_and_accepts(
    cast: Cast,
) -> None:
    user, url = person(EMAIL), invite_and_send(cast)
    client = signed_in(user)

    page = client.get(url).content.decode()
    accepted = client.post(f"{url}accept/", follow=True)

    assert all(words in page for words in ("Acme", cast.admin.email, "Member", EMAIL))
    assert accepted.redirect_chain[-1][0] == "/a/acme/"
    assert Membership.objects.get(account=cast.account, user=user).role == "member"
    assert actions() == ["invitation.send", "invitation.accept"]
    assert client.get(url).status_code == 404


def test_a_person_with_another_address_does_not_accept(cast: Cast) -> None:
    url, client = invite_and_send(cast), signed_in(cast.stranger)

    page = client.get(url).content.decode()
    answer = client.post(f"{url}accept/", follow=True).content.decode()

    assert "Accept</button>" not in page
    assert "It is not one of your verified addresses." in answer
    assert not is_member(cast, cast.stranger)


def test_an_unverified_sign_up_of_that_address_does_not_accept(cast: Cast) -> None:
    squatter, url = person(EMAIL, verified=False), invite_and_send(cast)
    EmailAddress.objects.create(user=cast.stranger, email=EMAIL, verified=False)

    for user in (squatter, cast.stranger):
        signed_in(user).post(f"{url}accept/")

    assert not is_member(cast, squatter)
    assert not is_member(cast, cast.stranger)


def test_without_email_verification_only_the_invitation_mail_makes_a_member(
    cast: Cast, settings: object
) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "none"  # type: ignore[attr-defined]
    squatter, url = person(EMAIL, verified=False), invite_and_send(cast)
    squatters = signed_in(squatter)

    guessed = squatters.post(url.replace(url.split("/")[-2], "x" * 43) + "accept/", follow=True)
    assert guessed.status_code == 404
    assert not is_member(cast, squatter)

    squatters.post(f"{url}accept/")  # now with the token, which is in the mail alone
    assert is_member(cast, squatter)
    assert EmailAddress.objects.get(user=squatter).verified


def test_a_sign_up_by_the_link_of_a_mail_needs_no_second_mail(cast: Cast) -> None:
    client, url = Client(), invite_and_send(cast)
    page = client.get(url).content.decode()
    assert "Sign up" in page
    assert "Accept</button>" not in page

    client.post(f"/auth/signup/?next={url}", {"email": EMAIL, "password1": PASSWORD})
    client.post(f"{url}accept/")

    user = User.objects.get(email=EMAIL)
    assert is_member(cast, user)
    assert EmailAddress.objects.get(user=user).verified
    assert len(mail.outbox) == 1


def test_the_link_verifies_no_other_address(cast: Cast) -> None:
    client, url = Client(), invite_and_send(cast)
    client.get(url)

    client.post("/auth/signup/", {"email": "else@example.com", "password1": PASSWORD})

    assert list(EmailAddress.objects.values_list("email", "verified")) == [("else@example.com", False)]


def test_the_recipient_of_the_mail_may_decline(cast: Cast) -> None:
    url = invite_and_send(cast)

    page = Client().post(f"{url}decline/").content.decode()

    assert "Invitation declined" in page
    assert invitation().state == "declined"
    assert signed_in(person(EMAIL)).get(url).status_code == 404


def test_an_invitation_expires_and_is_resent_with_another_link(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, old = person(EMAIL), invite_and_send(cast)
    later = clock.now() + timedelta(days=7)
    monkeypatch.setattr(clock, "now", lambda: later)
    admin = signed_in(cast.admin)

    assert signed_in(user).post(f"{old}accept/", follow=True).status_code == 404
    assert "Expired" in admin.get(LIST).content.decode()

    admin.post(f"/a/acme/settings/invitations/{invitation().pk}/resend/")
    new = send_invitations()
    assert new != old
    assert signed_in(user).get(old).status_code == 404
    signed_in(user).post(f"{new}accept/")
    assert is_member(cast, user)


def test_inviting_again_replaces_role_and_link(cast: Cast) -> None:
    user, old = person(EMAIL), invite_and_send(cast, EMAIL.upper(), role="admin")
    new = invite_and_send(cast, role="viewer")

    assert signed_in(user).get(old).status_code == 404
    signed_in(user).post(f"{new}accept/")

    assert Membership.objects.get(account=cast.account, user=user).role == "viewer"
    assert Invitation.objects.unscoped().count() == 1


def test_a_withdrawn_invitation_leads_nowhere(cast: Cast) -> None:
    user, url = person(EMAIL), invite_and_send(cast)

    signed_in(cast.admin).post(f"/a/acme/settings/invitations/{invitation().pk}/withdraw/")

    assert signed_in(user).post(f"{url}accept/", follow=True).status_code == 404
    assert EMAIL not in signed_in(cast.admin).get(LIST).content.decode().split("withdrawn.")[-1]
    assert not is_member(cast, user)


@pytest.mark.parametrize("how", ["demoted", "removed"])
def test_invitations_of_an_admin_end_with_her_role(cast: Cast, how: str) -> None:
    user, url, owner = person(EMAIL), invite_and_send(cast), Actor.of_user(cast.owner)
    membership_of_admin = Membership.objects.get(account=cast.account, user=cast.admin)

    if how == "demoted":
        change_role(membership=membership_of_admin, role="member", actor=owner)
    else:
        remove_member(membership=membership_of_admin, actor=owner)

    signed_in(user).post(f"{url}accept/")
    assert not is_member(cast, user)


def test_a_member_is_not_invited_and_a_viewer_invites_nobody(cast: Cast) -> None:
    again = signed_in(cast.admin).post(
        f"{LIST}invite/", {"email": cast.viewer.email.upper(), "role": "admin"}
    )
    page = signed_in(cast.member).get(LIST).content.decode()

    assert f"{cast.viewer.email} is already a member." in again.content.decode()
    assert "Invite a member" not in page
    assert (
        signed_in(cast.member).post(f"{LIST}invite/", {"email": EMAIL, "role": "viewer"}).status_code == 403
    )


def test_mails_of_a_day_are_limited_for_the_account_and_the_person(cast: Cast) -> None:
    actor = Actor.of_user(cast.owner)
    AuditEntry.objects.unscoped().bulk_create(
        AuditEntry(
            account=cast.other_account, actor_user=cast.owner, actor_label="o", action="invitation.send"
        )
        for _ in range(PER_DAY - 1)
    )
    invite(account=cast.account, email=EMAIL, role="viewer", actor=actor)

    with pytest.raises(UserError, match="in 24 hours"):
        resend_invitation(invitation=invitation(), actor=actor)
    strangers = Actor.of_user(cast.stranger)
    invite(account=cast.other_account, email=EMAIL, role="viewer", actor=strangers)  # its fiftieth
    with pytest.raises(UserError, match="in 24 hours"):
        invite(account=cast.other_account, email=EMAIL, role="viewer", actor=strangers)


def test_a_mail_server_that_is_away_gets_it_later_and_once(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    invite(account=cast.account, email=EMAIL, role="viewer", actor=Actor.of_user(cast.admin))
    account, pk = cast.account, invitation().pk

    def refuse(_mail: EmailMessage) -> int:
        raise ConnectionRefusedError

    with monkeypatch.context() as away:
        away.setattr(EmailMessage, "send", refuse)
        assert not send_invitation(account=account, invitation_id=pk)
    assert "Not sent" in signed_in(cast.admin).get(LIST).content.decode()
    assert due_invitations() == []

    later = clock.now() + timedelta(minutes=2)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert due_invitations() == [(account.pk, pk)]
    assert [send_invitation(account=account, invitation_id=pk) for _ in range(2)] == [True, False]
    assert len(mail.outbox) == 1


def test_names_that_others_chose_are_not_in_the_subject_and_the_token_is_in_no_row(cast: Cast) -> None:
    Account.objects.filter(pk=cast.account.pk).update(name="Win a prize\r\nBcc: x@example.com")
    cast.account.refresh_from_db()
    token = invite_and_send(cast).split("/")[-2]

    assert "the account “Win a prize Bcc: x@example.com” in" in mail.outbox[-1].body
    assert mail.outbox[-1].subject == "You are invited to an account in the FinOps Console"
    assert mail.outbox[-1].to == [EMAIL]
    row = Invitation.objects.unscoped().values().get()
    assert token not in str(row)
