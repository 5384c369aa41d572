"""Questions of the cost explorer are kept by name, for everyone or for oneself."""

from __future__ import annotations

import pytest

from accounts.models import AuditEntry
from accounts.scoping import account_scope
from finops.costs.models import SavedView
from tests.cast import Cast, signed_in

VIEWS = "/a/acme/cost-explorer/views/"
QUESTION = "?period=last_90_days&granularity=week&group_by=region&f0=service&f0op=in&f0v=A%26B"


def save(cast: Cast, name: str, who: str = "", *, by: str = "member") -> int:
    answer = signed_in(getattr(cast, by)).post(f"{VIEWS}new/{QUESTION}", {"name": name, "who": who})
    assert answer.status_code == 302, answer.content.decode()
    return int(answer["Location"].rstrip("/").rsplit("/", 1)[-1])


def test_a_view_shows_its_question_and_takes_another(cast: Cast) -> None:
    pk = save(cast, "Weekly")
    member = signed_in(cast.member)

    page = member.get(f"{VIEWS}{pk}/").content.decode()
    assert 'title="Service is A&amp;B"' in page
    assert "<title>Weekly" in page
    assert "Update view" not in page

    other = "?period=last_30_days&granularity=day&group_by=service"
    assert "Update view" in member.get(f"{VIEWS}{pk}/{other}").content.decode()
    assert member.post(f"{VIEWS}{pk}/update/{other}").status_code == 302
    with account_scope(cast.account):
        assert SavedView.objects.get().query.group_by == ["service"]
    assert "A&amp;B" not in member.get(f"{VIEWS}{pk}/").content.decode()


def test_the_link_of_an_own_view_is_one_that_others_may_open(cast: Cast) -> None:
    pk = save(cast, "Mine")

    page = signed_in(cast.member).get(f"{VIEWS}{pk}/").content.decode()

    assert 'data-copy-link="/a/acme/cost-explorer/?period=last_90_days&amp;' in page


def test_a_shared_view_is_visible_to_all_and_a_private_one_to_its_owner(cast: Cast) -> None:
    shared, own = save(cast, "Ours", "shared"), save(cast, "Mine")
    viewer = signed_in(cast.viewer)

    for page in (viewer.get(VIEWS).content.decode(), viewer.get(f"{VIEWS}menu/").content.decode()):
        assert "Ours" in page
        assert "Mine" not in page
    assert "Mine" in signed_in(cast.member).get(f"{VIEWS}menu/").content.decode()
    assert viewer.get(f"{VIEWS}{shared}/").status_code == 200
    assert viewer.get(f"{VIEWS}{own}/").status_code == 404
    owner = signed_in(cast.owner)
    assert owner.post(f"{VIEWS}{own}/delete/").status_code == 404
    assert owner.get(f"{VIEWS}{own}/edit/").status_code == 404


def test_a_viewer_saves_changes_and_deletes_nothing(cast: Cast) -> None:
    pk = save(cast, "Ours", "shared")
    viewer = signed_in(cast.viewer)

    assert viewer.post(f"{VIEWS}new/{QUESTION}", {"name": "Theirs"}).status_code == 403
    assert viewer.post(f"{VIEWS}{pk}/edit/", {"name": "Theirs", "who": "shared"}).status_code == 403
    assert viewer.post(f"{VIEWS}{pk}/update/{QUESTION}").status_code == 403
    assert viewer.post(f"{VIEWS}{pk}/delete/").status_code == 403
    assert "Save view" not in viewer.get("/a/acme/cost-explorer/").content.decode()


def test_a_view_is_renamed_shared_and_deleted(cast: Cast) -> None:
    pk = save(cast, "Mine")
    member = signed_in(cast.member)

    assert member.post(f"{VIEWS}{pk}/edit/", {"name": "Ours", "who": "shared"}).status_code == 302
    assert "Ours" in signed_in(cast.viewer).get(VIEWS).content.decode()
    assert signed_in(cast.owner).post(f"{VIEWS}{pk}/delete/").status_code == 302
    with account_scope(cast.account):
        assert not SavedView.objects.exists()


@pytest.mark.parametrize(
    ("name", "who", "message"),
    [
        ("ours", "shared", "A shared view with this name already exists."),
        ("MINE", "mine", "You already have a view with this name."),
        ("", "mine", "Enter a name."),
        ("x" * 101, "mine", "at most 100 characters"),
    ],
)
def test_a_name_that_cannot_be_is_said_in_the_form(cast: Cast, name: str, who: str, message: str) -> None:
    save(cast, "Ours", "shared")
    save(cast, "Mine")

    answer = signed_in(cast.member).post(f"{VIEWS}new/{QUESTION}", {"name": name, "who": who})

    assert answer.status_code == 422
    assert message in answer.content.decode()


def test_people_may_have_own_views_of_one_name(cast: Cast) -> None:
    save(cast, "Mine")
    save(cast, "Mine", by="owner")

    with account_scope(cast.account):
        assert SavedView.objects.count() == 2


def test_the_audit_log_names_shared_views_alone(cast: Cast) -> None:
    save(cast, "Ours", "shared")
    save(cast, "Secret plan")

    with account_scope(cast.account):
        entries = list(AuditEntry.objects.filter(action="saved_view.create").order_by("pk"))
    assert [entry.target for entry in entries] == ["Ours", "a personal view"]
    assert "Secret plan" not in str([entry.detail for entry in entries])


def test_a_question_that_cannot_be_is_not_saved(cast: Cast) -> None:
    answer = signed_in(cast.member).post(f"{VIEWS}new/?granularity=hour", {"name": "Hourly"})

    assert answer.status_code == 302
    with account_scope(cast.account):
        assert not SavedView.objects.exists()
