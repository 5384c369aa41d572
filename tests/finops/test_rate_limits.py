"""429 on pages: sign-up and password reset by address, uploads, exports and searches of cost by person."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from finops import rate_limits
from tests.cast import Cast, signed_in
from tests.ingestion.push_client import create_push_client

RESET = "/auth/password/reset/"
EXPORT = "/a/acme/budgets/?format=csv"


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "SIGN_UP_PAGES", dict.fromkeys(rate_limits.SIGN_UP_PAGES, 2))
    monkeypatch.setattr(rate_limits, "UPLOADS_PER_MINUTE", 2)
    monkeypatch.setattr(rate_limits, "EXPORTS_PER_MINUTE", 2)
    monkeypatch.setattr(rate_limits, "COST_SEARCHES_PER_MINUTE", 2)


def assert_refused(answer: Any) -> None:
    """429, the seconds in the header, and a page that names them."""
    assert answer.status_code == 429
    seconds = answer.headers["Retry-After"]
    assert 55 <= int(seconds) <= 60
    page = answer.content.decode()
    assert "<title>Too many requests" in page
    assert f"Try again in {seconds} s. Nothing was done." in page


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/auth/signup/", {"email": "x@example.com", "password1": "short"}),
        (RESET, {"email": "no address"}),
        ("/auth/password/reset/key/1-set-password/", {"password1": "a"}),
    ],
    ids=["sign-up", "password reset", "new password"],
)
def test_an_address_that_signs_up_or_resets_too_often_waits(path: str, fields: dict[str, str]) -> None:
    client = Client(REMOTE_ADDR="192.0.2.7")

    answers = [client.post(path, fields) for _ in range(3)]

    assert 429 not in [answer.status_code for answer in answers[:2]]
    assert_refused(answers[2])
    assert client.get(path).status_code != 429
    assert Client(REMOTE_ADDR="192.0.2.8").post(path, fields).status_code != 429


@pytest.mark.django_db
def test_the_address_is_not_what_the_client_says_it_is() -> None:
    answers = [
        Client(REMOTE_ADDR="192.0.2.7", HTTP_X_FORWARDED_FOR=f"10.0.0.{at}").post(RESET, {"email": "no"})
        for at in range(3)
    ]

    assert_refused(answers[2])


@pytest.mark.django_db
def test_resets_are_limited_per_email_address(cast: Cast) -> None:
    answers = [
        Client(REMOTE_ADDR=f"192.0.2.{at}").post(RESET, {"email": cast.member.email}) for at in range(6)
    ]

    assert [answer.headers["Location"] for answer in answers] == [f"{RESET}done/"] * 6
    assert [email.to for email in mail.outbox] == [[cast.member.email]] * 5, "the earlier links work"


def test_a_person_who_exports_too_often_waits(cast: Cast) -> None:
    member = signed_in(cast.member)

    answers = [member.get(EXPORT) for _ in range(3)]

    assert [answer.headers["Content-Type"] for answer in answers[:2]] == ["text/csv; charset=utf-8"] * 2
    assert_refused(answers[2])
    assert signed_in(cast.owner).get(EXPORT).status_code == 200
    assert member.get("/a/acme/budgets/").status_code == 200


def test_a_person_who_searches_cost_too_often_waits_and_still_finds_pages(cast: Cast) -> None:
    member = signed_in(cast.member)
    cost_search = {"q": "budget", "costs": "1"}

    answers = [member.get("/a/acme/search/", cost_search) for _ in range(3)]

    assert [answer.status_code for answer in answers[:2]] == [200, 200]
    assert_refused(answers[2])
    assert "Budgets" in member.get("/a/acme/search/", {"q": "budget"}).content.decode()
    assert signed_in(cast.owner).get("/a/acme/search/", cost_search).status_code == 200


def test_a_person_who_uploads_too_often_waits_and_nothing_is_kept(cast: Cast) -> None:
    member, source = signed_in(cast.member), create_push_client(cast).source
    url = f"/a/acme/connections/usage/{source.pk}/upload/"

    def upload(**headers: str) -> Any:
        file = SimpleUploadedFile("usage.csv", b"no header\n")
        return member.post(url, {"upload": file}, headers=headers)

    answers = [upload() for _ in range(3)]

    assert [answer.status_code for answer in answers[:2]] == [422, 422]
    assert_refused(answers[2])
    # What upload.js asks for, and shows.
    refusal = upload(accept="application/json")
    assert (refusal.status_code, refusal.headers["Retry-After"]) == (429, answers[2].headers["Retry-After"])
    assert refusal.json()["errors"]["__all__"][0].startswith("Too many requests. Try again in ")
