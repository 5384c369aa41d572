"""Wrong passwords and codes are limited, and no stranger locks a person out with them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.core import mail
from django.test import Client

from accounts.models import User
from accounts.security import guesses
from accounts.security.guesses import PER_ADDRESS, PER_DEVICE, PER_PERSON_AND_ADDRESS
from accounts.services.operators import end_access
from finops.lib import clock
from tests.accounts.passkeys import Passkey
from tests.accounts.test_security import totp_code
from tests.cast import ACTOR, PASSWORD, Cast

NEW_PASSWORD = "another correct horse"
HOME = "192.0.2.1"
PER_PERSON = guesses.PER_PERSON._replace(guesses=6)
"""More than those of one address, and few: each guess is a request."""


@pytest.fixture(autouse=True)
def _few_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guesses, "PER_PERSON", PER_PERSON)


@pytest.fixture
def ana(cast: Cast) -> User:
    EmailAddress.objects.create(user=cast.owner, email=cast.owner.email, verified=True, primary=True)
    return cast.owner


def post_password(client: Client, user: User, password: str) -> str:
    return page_or_target(client.post("/auth/login/", {"login": user.email, "password": password}))


def page_or_target(answer: Any) -> str:
    return str(answer.content.decode() if answer.status_code == 200 else answer.headers["Location"])


def signs_in(client: Client, user: User, password: str = PASSWORD) -> bool:
    """Sign out, and in again by password, as a browser does that keeps its cookies."""
    client.post("/auth/logout/")
    post_password(client, user, password)
    return is_signed_in(client)


def is_signed_in(client: Client) -> bool:
    return client.get("/auth/sessions/").status_code == 200


def is_refused(page: str) -> bool:
    return "Too many failed attempts" in page


def guess_as_strangers(user: User, *, number: int = PER_PERSON.guesses) -> list[str]:
    """Send wrong passwords, each from an address of its own."""
    strangers = (Client(REMOTE_ADDR=f"198.51.{at // 250}.{at % 250}") for at in range(number))
    return [post_password(stranger, user, "wrong") for stranger in strangers]


@pytest.fixture
def laptop(ana: User) -> Client:
    """A browser that she signed in with."""
    client = Client(REMOTE_ADDR=HOME)
    assert signs_in(client, ana)
    return client


def test_five_wrong_passwords_of_five_addresses_keep_nobody_out(ana: User) -> None:
    guess_as_strangers(ana, number=5)

    assert signs_in(Client(REMOTE_ADDR=HOME), ana)


def test_strangers_with_many_addresses_are_limited_for_one_person(ana: User, cast: Cast) -> None:
    pages = guess_as_strangers(ana, number=PER_PERSON.guesses + 2)

    assert [is_refused(page) for page in pages[-3:]] == [False, True, True]
    assert is_refused(post_password(Client(REMOTE_ADDR=HOME), ana, PASSWORD)), (
        "an unknown browser has to wait"
    )
    assert signs_in(Client(REMOTE_ADDR=HOME), cast.member), "another person does not"


def test_the_limits_of_an_unknown_address_are_the_same(ana: User) -> None:
    nobody = User(email="nobody@example.com")

    assert [is_refused(page) for page in guess_as_strangers(nobody, number=PER_PERSON.guesses + 1)] == [
        is_refused(page) for page in guess_as_strangers(ana, number=PER_PERSON.guesses + 1)
    ]


def test_one_address_is_limited_for_one_person_and_for_all(ana: User, cast: Cast) -> None:
    stranger = Client(REMOTE_ADDR="198.51.100.1")

    pages = [post_password(stranger, ana, "wrong") for _ in range(PER_PERSON_AND_ADDRESS.guesses + 1)]
    assert [is_refused(page) for page in pages[-2:]] == [False, True]
    last_pages = [post_password(stranger, cast.member, "wrong") for _ in range(PER_ADDRESS.guesses)]
    assert is_refused(last_pages[-1])
    assert is_refused(post_password(stranger, cast.viewer, "wrong"))


def test_a_known_device_passes_whatever_strangers_guess(ana: User, laptop: Client) -> None:
    guess_as_strangers(ana)
    neighbour = Client(REMOTE_ADDR=HOME)
    for _ in range(PER_ADDRESS.guesses + 1):
        post_password(neighbour, ana, "wrong")

    assert signs_in(laptop, ana)


def test_a_known_device_has_a_limit_of_its_own(ana: User, laptop: Client) -> None:
    laptop.post("/auth/logout/")

    pages = [post_password(laptop, ana, "wrong") for _ in range(PER_DEVICE.guesses + 1)]

    assert [is_refused(page) for page in pages[-2:]] == [False, True]
    assert not signs_in(laptop, ana)


def test_a_device_is_known_for_those_who_signed_in_there_alone(ana: User, cast: Cast, laptop: Client) -> None:
    guess_as_strangers(cast.member)

    assert not signs_in(laptop, cast.member)
    laptop.cookies["finops_device"] = laptop.cookies["finops_device"].value[:-6] + "AAAAAA"
    guess_as_strangers(ana)
    assert not signs_in(laptop, ana), "the cookie is damaged"


def test_two_people_of_one_browser_are_both_known(ana: User, cast: Cast, laptop: Client) -> None:
    assert signs_in(laptop, cast.member)
    for user in (ana, cast.member):
        guess_as_strangers(user)

    assert signs_in(laptop, ana)
    assert signs_in(laptop, cast.member)


def test_a_new_password_makes_other_devices_unknown(ana: User, laptop: Client) -> None:
    phone = Client(REMOTE_ADDR="192.0.2.2")
    assert signs_in(phone, ana)

    form = {"oldpassword": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    phone.post("/auth/password/change/", form)
    guess_as_strangers(ana)

    assert not signs_in(laptop, ana, NEW_PASSWORD)
    assert signs_in(phone, ana, NEW_PASSWORD)


def test_ended_sessions_make_other_devices_unknown(ana: User, laptop: Client) -> None:
    phone = Client(REMOTE_ADDR="192.0.2.2")
    assert signs_in(phone, ana)

    phone.post("/auth/sessions/end/")
    guess_as_strangers(ana)

    assert not signs_in(laptop, ana)
    assert signs_in(phone, ana)


def test_an_operator_who_ends_a_persons_access_makes_the_devices_unknown(ana: User, laptop: Client) -> None:
    end_access(user=ana, actor=ACTOR)
    guess_as_strangers(ana)

    assert not signs_in(laptop, ana)


def test_a_device_is_known_for_a_year(ana: User, laptop: Client) -> None:
    guess_as_strangers(ana)

    with clock.frozen(clock.now() + timedelta(days=366)):
        assert not signs_in(laptop, ana)


def test_a_passkey_passes(ana: User) -> None:
    passkey, phone = Passkey(ana), Client(REMOTE_ADDR=HOME)
    guess_as_strangers(ana)
    for _ in range(PER_ADDRESS.guesses + 1):
        post_password(Client(REMOTE_ADDR=HOME), ana, "wrong")

    passkey.sign_in(phone)

    assert is_signed_in(phone)
    assert is_refused(post_password(Client(REMOTE_ADDR=HOME), ana, PASSWORD))


def reset_link() -> str:
    match = re.search(r"https?://\S+/auth/password/reset/key/\S+", str(mail.outbox[-1].body))
    assert match
    return urlsplit(match[0]).path


def choose_password(client: Client, link: str) -> None:
    form = client.get(link, follow=True)
    client.post(form.redirect_chain[-1][0], {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD})


def test_a_mailed_link_passes_whatever_strangers_request_and_guess(ana: User) -> None:
    for at in range(20):
        Client(REMOTE_ADDR=f"198.51.100.{at}").post("/auth/password/reset/", {"email": ana.email})
    phone = Client(REMOTE_ADDR=HOME)

    answer = phone.post("/auth/password/reset/", {"email": ana.email})
    choose_password(phone, reset_link())
    guess_as_strangers(ana)

    assert answer.status_code == 302
    assert len([each for each in mail.outbox if "/reset/key/" in each.body]) == 5
    assert signs_in(phone, ana, NEW_PASSWORD)


def test_a_mailed_link_counts_once(ana: User) -> None:
    Client().post("/auth/password/reset/", {"email": ana.email})
    link, phone = reset_link(), Client()
    choose_password(phone, link)

    assert "This link is no longer valid" in Client().get(link, follow=True).content.decode()


@pytest.fixture
def secret(ana: User) -> str:
    """The secret of her authenticator app."""
    text = str(generate_totp_secret())
    TOTP.activate(ana, text)
    return text


def post_code(client: Client, code: str) -> str:
    return page_or_target(client.post("/auth/2fa/authenticate/", {"code": code}))


def test_somebody_with_the_password_does_not_lock_the_second_factor(
    ana: User, laptop: Client, secret: str
) -> None:
    codes = []
    for at in range(PER_PERSON.guesses + 1):
        thief = Client(REMOTE_ADDR=f"198.51.100.{at}")
        post_password(thief, ana, PASSWORD)
        codes.append(post_code(thief, "000000"))

    assert [is_refused(page) for page in codes[-2:]] == [False, True]
    laptop.post("/auth/logout/")
    post_password(laptop, ana, PASSWORD)
    assert not is_refused(post_code(laptop, totp_code(secret)))
    assert is_signed_in(laptop)


def test_a_known_device_guesses_five_codes(ana: User, laptop: Client, secret: str) -> None:
    laptop.post("/auth/logout/")
    post_password(laptop, ana, PASSWORD)

    pages = [post_code(laptop, "000000") for _ in range(PER_DEVICE.guesses + 1)]

    assert [is_refused(page) for page in pages[-2:]] == [False, True]


def test_more_mailed_links_do_not_allow_more_codes(ana: User, secret: str) -> None:
    """A thief of the mailbox chooses a password again and again, each time in a browser without cookies."""
    pages, thief = [], Client()
    for _ in range(PER_DEVICE.guesses):
        thief = Client(REMOTE_ADDR=HOME)
        thief.post("/auth/password/reset/", {"email": ana.email})
        choose_password(thief, reset_link())
        post_password(thief, ana, NEW_PASSWORD)
        pages.append(post_code(thief, "000000"))
    pages.append(post_code(thief, "000000"))

    assert [is_refused(page) for page in pages[-2:]] == [False, True]


def test_strangers_do_not_lock_a_signed_in_person_out_of_confirming_access(
    ana: User, laptop: Client, secret: str
) -> None:
    guess_as_strangers(ana)
    other = Client(REMOTE_ADDR="192.0.2.3")
    for _ in range(PER_PERSON_AND_ADDRESS.guesses):
        post_password(other, ana, "wrong")
    del laptop.cookies["finops_device"]

    by_password = laptop.post("/auth/reauthenticate/?next=/auth/sessions/", {"password": PASSWORD})
    by_code = laptop.post("/auth/2fa/reauthenticate/?next=/auth/sessions/", {"code": totp_code(secret)})

    assert [answer.headers["Location"] for answer in (by_password, by_code)] == ["/auth/sessions/"] * 2


def test_a_signed_in_session_guesses_the_password_five_times(ana: User, laptop: Client) -> None:
    answers = [
        laptop.post("/auth/reauthenticate/?next=/auth/sessions/", {"password": "wrong"})
        for _ in range(PER_DEVICE.guesses + 1)
    ]

    assert [is_refused(answer.content.decode()) for answer in answers[-2:]] == [False, True]


def test_forty_sign_ins_of_one_address_do_not_keep_a_known_device_waiting(ana: User, laptop: Client) -> None:
    neighbours = [
        Client(REMOTE_ADDR=HOME).post("/auth/login/", {"login": "x@example.com", "password": "x"})
        for _ in range(40)
    ]

    assert neighbours[-1].status_code == 429
    assert signs_in(laptop, ana)


def test_a_code_counts_once_whether_it_activates_or_signs_in(
    ana: User, laptop: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)
    laptop.post("/auth/reauthenticate/?next=/auth/sessions/", {"password": PASSWORD})
    laptop.get("/auth/2fa/totp/activate/")
    secret = laptop.session["mfa.totp.secret"]
    code = totp_code(secret)
    laptop.post("/auth/2fa/totp/activate/", {"code": code})
    recovery_code = RecoveryCodes.activate(ana).get_unused_codes()[0]

    def passes(text: str) -> bool:
        client = Client(REMOTE_ADDR=HOME)
        post_password(client, ana, PASSWORD)
        post_code(client, text)
        return is_signed_in(client)

    assert not passes(code), "it activated"
    assert not passes(f"{code[:3]} {code[3:]}"), "it activated, written otherwise"
    assert [passes(recovery_code), passes(recovery_code)] == [True, False]
    monkeypatch.setattr("time.time", lambda: 1_800_000_030.0)
    next_code = totp_code(secret)
    assert [passes(next_code), passes(next_code)] == [True, False]


def test_adding_somebodys_address_takes_no_mail_from_its_owner(cast: Cast, settings: object) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"  # type: ignore[attr-defined]
    EmailAddress.objects.create(user=cast.member, email=cast.member.email, verified=True, primary=True)
    stranger, victim = Client(REMOTE_ADDR="198.51.100.1"), Client(REMOTE_ADDR=HOME)
    assert signs_in(stranger, cast.member)
    stranger.post("/auth/reauthenticate/?next=/auth/email/", {"password": PASSWORD})
    stranger.post("/auth/email/", {"action_add": "", "email": "victim@example.com"})
    mail.outbox.clear()

    victim.post("/auth/signup/", {"email": "victim@example.com", "password1": PASSWORD})

    assert [email.to for email in mail.outbox] == [["victim@example.com"]]
