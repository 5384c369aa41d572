"""A person's profile: their name, formats, time zone and theme, used on every page."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts.models import Account, AuditEntry, User
from accounts.scoping import account_scope
from tests.cast import Cast, signed_in
from tests.pages import get_page, text_of

URL = "/auth/profile/"


def answers(**changes: Any) -> dict[str, Any]:
    return {"name": "Vera", "locale": "en-DE", "time_zone": "Asia/Tokyo", "theme": "dark"} | changes


@pytest.mark.parametrize("name", ["owner", "member", "viewer", "stranger", "both"])
def test_everybody_edits_their_own_profile(cast: Cast, name: str) -> None:
    person, other = cast.person(name), cast.admin
    client = signed_in(person)

    saved = text_of(client.post(URL, answers(), follow=True))

    person.refresh_from_db()
    other.refresh_from_db()
    assert "Profile saved" in saved
    assert (person.name, person.locale, person.time_zone, person.theme) == (
        "Vera",
        "en-DE",
        "Asia/Tokyo",
        "dark",
    )
    assert (other.name, other.locale, other.time_zone, other.theme) == ("Admin", "", "", "")


def test_the_profile_is_for_people_who_are_signed_in(db: None) -> None:
    answer = Client().get(URL)

    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/auth/login/")


def test_without_a_choice_formats_are_american_and_times_utc(cast: Cast) -> None:
    page = get_page(signed_in(cast.viewer), URL)

    assert "−$1,234.50 , 32.3%" in page
    assert "M UTC" in page


def test_pages_are_written_in_the_persons_locale_and_time_zone(cast: Cast, acme: Account) -> None:
    """At noon UTC of 20 March 2026 it is 21:00 in Tokyo."""
    client = signed_in(cast.viewer)
    client.post(URL, answers())

    answer = client.get(URL)

    page = text_of(answer)
    assert "Friday, 20 March 2026, 21:00:00 Japan Standard Time" in page
    assert "18 Feb – 19 Mar" in page
    assert "−1.234,50 US$ , 32,3 %" in page
    assert "&quot;decimal&quot;:&quot;,&quot;" in answer.content.decode()
    assert 'data-theme="dark"' in answer.content.decode()
    assert "Feb 18 – Mar 19" in get_page(signed_in(cast.member), URL)


@pytest.mark.parametrize(
    ("entered", "stored"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        ("berlin", "Europe/Berlin"),
        ("new york", "America/New_York"),
        ("utc", "UTC"),
    ],
)
def test_a_time_zone_is_found_by_its_city(cast: Cast, entered: str, stored: str) -> None:
    signed_in(cast.viewer).post(URL, answers(time_zone=entered))

    assert User.objects.get(pk=cast.viewer.pk).time_zone == stored


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"time_zone": "Mars/Olympus"},
            "This is not a time zone. Choose one from the list, such as Europe/Berlin.",
        ),
        ({"time_zone": ""}, "Choose a time zone, such as UTC."),
        ({"locale": "tlh"}, "Select a valid choice."),
        ({"theme": "pink"}, "Select a valid choice."),
        ({"name": "x" * 151}, "at most 150 characters"),
    ],
)
def test_an_impossible_value_is_refused_next_to_its_field(
    cast: Cast, changes: dict[str, str], problem: str
) -> None:
    answer = signed_in(cast.viewer).post(URL, answers(**changes))

    assert problem in text_of(answer, status=422)
    assert User.objects.get(pk=cast.viewer.pk).locale == ""


def test_the_audit_logs_of_a_persons_accounts_say_what_changed(cast: Cast) -> None:
    client = signed_in(cast.both)
    client.post(URL, answers())
    client.post(URL, answers())

    for account in (cast.account, cast.other_account):
        with account_scope(account):
            entry = AuditEntry.objects.get(action="user.change_profile")
        assert entry.target == cast.both.email
        assert entry.detail["to"]["time_zone"] == "Asia/Tokyo"


def test_the_profile_is_in_the_menu_and_the_settings_of_a_person(cast: Cast) -> None:
    client = signed_in(cast.viewer)

    assert client.get("/a/acme/").content.decode().count(f'href="{URL}"') >= 1
    assert f'href="{URL}"' in client.get("/auth/sessions/").content.decode()
