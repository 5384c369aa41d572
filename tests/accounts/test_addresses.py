"""An unverified sign-up never owns an address: who verifies it starts clean."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.core import mail
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import Account, Invitation, MCPKey, Membership, User
from accounts.services import create_account, invite, offer_ownership
from accounts.services.addresses import sweep_unverified_users
from finops.lib import clock
from tests.cast import PASSWORD, Cast, signed_in
from tests.hashers import QuickHasher

EMAIL, OTHER = "victim@example.com", "another correct horse"


@pytest.fixture(autouse=True)
def email_verification(settings: object) -> None:
    """As in production; with nothing that counts against the limits of mails."""
    cache.clear()
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"  # type: ignore[attr-defined]


def link(containing: str) -> str:
    match = re.search(rf"https?://[^/]+(/auth/{containing}\S+)", str(mail.outbox[-1].body))
    assert match, mail.outbox[-1].body
    return match[1]


def sign_up(client: Client, email: str = EMAIL, password: str = PASSWORD) -> None:
    cache.clear()  # one mail in three minutes to an address
    client.post("/auth/signup/", {"email": email, "password1": password})


def choose_password(client: Client, url: str) -> None:
    form = client.get(url, follow=True)
    client.post(form.redirect_chain[-1][0], {"password1": OTHER, "password2": OTHER})


def signs_in(password: str, email: str = EMAIL) -> bool:
    client = Client()
    client.post("/auth/login/", {"login": email, "password": password})
    return "_auth_user_id" in client.session


def verified_users(email: str = EMAIL) -> list[str]:
    return list(EmailAddress.objects.filter(verified=True, email=email).values_list("user__email", flat=True))


class CountedHasher(QuickHasher):
    hashed = 0

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        CountedHasher.hashed += 1
        return super().encode(password, salt, iterations)


def test_a_sign_up_with_a_known_address_takes_as_long_as_with_a_new_one(db: None, settings: Settings) -> None:
    settings.PASSWORD_HASHERS = [f"{__name__}.CountedHasher"]
    sign_up(Client())
    of_a_new_address, CountedHasher.hashed = CountedHasher.hashed, 0

    sign_up(Client())

    assert CountedHasher.hashed == of_a_new_address == 1


def test_a_person_who_opens_the_mail_in_the_browser_of_the_sign_up_keeps_the_password(db: None) -> None:
    client = Client()
    sign_up(client)

    client.post(link("confirm-email/"))

    assert verified_users() == [EMAIL]
    assert signs_in(PASSWORD)


def test_another_persons_sign_up_is_verified_without_its_password(db: None) -> None:
    sign_up(Client())
    victim = Client()

    response = victim.post(link("confirm-email/"))

    assert verified_users() == [EMAIL]
    assert not signs_in(PASSWORD)
    choose_password(victim, response.headers["Location"])
    assert signs_in(OTHER)
    assert not signs_in(PASSWORD)


def test_the_owner_of_an_address_gets_it_by_mail_after_another_persons_sign_up(db: None) -> None:
    sign_up(Client())
    victim = Client()
    sign_up(victim, password=OTHER)
    assert "already exists" in mail.outbox[-1].body

    victim.post("/auth/password/reset/", {"email": EMAIL})
    choose_password(victim, link("password/reset/key/"))

    assert verified_users() == [EMAIL]
    assert signs_in(OTHER)
    assert not signs_in(PASSWORD)


def test_nothing_that_a_squatter_created_keeps_access(cast: Cast, settings: object) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "none"  # type: ignore[attr-defined]
    squatter = Client()
    sign_up(squatter)
    user = User.objects.get(email=EMAIL)
    account = create_account(name="Trap", owner=user)
    Membership.objects.create(account=account, user=cast.stranger, role="admin")
    invite(account=account, actor=Actor.of_user(user), email="accomplice@example.com", role="admin")
    offer_ownership(account=account, to=cast.stranger, by=user)
    Membership.objects.create(account=cast.account, user=user, role="viewer")
    mint_mcp_key(account=account, actor=Actor.of_user(user), name="second key")
    Authenticator.objects.create(user=user, type="totp", data={})
    EmailAddress.objects.create(user=user, email="squatter@example.com")

    victim = Client()
    victim.post("/auth/password/reset/", {"email": EMAIL})
    choose_password(victim, link("password/reset/key/"))

    assert squatter.get("/", follow=True).redirect_chain[-1][0].startswith("/auth/login/")
    assert list(EmailAddress.objects.filter(user=user).values_list("email", "verified")) == [(EMAIL, True)]
    assert not Authenticator.objects.exists()
    assert MCPKey.objects.unscoped().get(name="second key").state == "revoked"
    rows = Membership.objects.filter(user=user).order_by("account__slug")
    assert list(rows.values_list("account__slug", "role")) == [("acme", "viewer"), ("trap", "owner")]
    assert Invitation.objects.unscoped().get().state == "withdrawn"
    assert Account.objects.get(slug="trap").transfer_to is None


def test_an_address_that_somebody_added_is_neither_hers_nor_in_the_way(cast: Cast) -> None:
    EmailAddress.objects.create(user=cast.stranger, email=cast.stranger.email, verified=True, primary=True)
    EmailAddress.objects.create(user=cast.stranger, email=EMAIL)

    Client().post("/auth/password/reset/", {"email": EMAIL})
    assert "/auth/password/reset/key/" not in mail.outbox[-1].body

    client = Client()
    sign_up(client)
    client.post(link("confirm-email/"))
    assert verified_users() == [EMAIL]


def test_a_victim_does_not_add_her_address_to_another_persons_sign_in(cast: Cast) -> None:
    EmailAddress.objects.create(user=cast.stranger, email=cast.stranger.email, verified=True, primary=True)
    address = EmailAddress.objects.create(user=cast.stranger, email=EMAIL)
    strangers = signed_in(cast.stranger)
    cache.clear()
    strangers.post("/auth/email/", {"action_send": "", "email": EMAIL})
    url = link("confirm-email/")

    page = Client().post(url, follow=True).content.decode()
    address.refresh_from_db()
    assert not address.verified
    assert "Sign in as the person who added this address" in page

    strangers.post(url)
    address.refresh_from_db()
    assert address.verified


def test_a_sign_up_gives_way_to_who_verifies_the_address(cast: Cast) -> None:
    sign_up(Client())
    EmailAddress.objects.create(user=cast.stranger, email=cast.stranger.email, verified=True, primary=True)
    EmailAddress.objects.create(user=cast.stranger, email=EMAIL)
    strangers = signed_in(cast.stranger)
    cache.clear()
    strangers.post("/auth/email/", {"action_send": "", "email": EMAIL})

    strangers.post(link("confirm-email/"))
    EmailAddress.objects.get(user=cast.stranger, email=EMAIL).set_as_primary()

    assert User.objects.get(email=EMAIL) == cast.stranger


def test_sign_ups_that_nobody_verifies_are_deleted_after_a_week(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_up(Client())
    assert sweep_unverified_users() == 0

    later = clock.now() + timedelta(days=7, seconds=1)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert sweep_unverified_users() == 1
    assert not User.objects.filter(email=EMAIL).exists()
    assert User.objects.count() == 6
