"""Notes on charts: who writes, changes and deletes them, their scope from a chart's filters, and their position."""

from __future__ import annotations

import html
from datetime import UTC, date, datetime
from urllib.parse import urlencode

import pytest
from django.test import Client

from accounts.models import AuditEntry
from accounts.scoping import account_scope
from finops.change_events.models import ChangeEvent
from finops.change_events.services import notes
from finops.change_events.services.notes import NoteDraft, create_note
from finops.lib import clock
from finops.lib.errors import UserError
from tests.cast import ACTOR, Cast, signed_in
from tests.factories.costs import add_source, cost
from tests.factories.days import NOON

DAY = date(2026, 3, 3)
NEW = "/a/acme/events/notes/new/"
FORM = {
    "day": str(DAY),
    "title": "Prices of partner changed",
    "scope": "service=Amazon EC2\ntag:team=payments",
}


def only_note(cast: Cast) -> ChangeEvent:
    with account_scope(cast.account):
        return ChangeEvent.objects.get()


def write_note(cast: Cast, client: Client, **fields: str) -> ChangeEvent:
    answer = client.post(NEW, FORM | fields)
    assert answer.status_code == 302
    return only_note(cast)


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ({}, "2026-03-20"),
        ({"period": "last_30_days"}, "2026-03-19"),
        ({"period": "month_to_date"}, "2026-03-20"),
        ({"period": "last_month"}, "2026-02-28"),
        ({"granularity": "day"}, "2026-03-19"),
    ],
)
def test_the_day_of_a_new_note_is_on_the_chart_that_it_is_written_on(
    cast: Cast, question: dict[str, str], day: str
) -> None:
    with clock.frozen(NOON):
        form = signed_in(cast.member).get(NEW, question).content.decode()

    assert f'value="{day}"' in form


def test_a_member_writes_a_note_with_the_scope_of_the_charts_filters(cast: Cast) -> None:
    with account_scope(cast.account):
        add_source(cast.account, [cost(DAY, 10, service="Compute"), cost(DAY, 5, service="Storage")])
    client = signed_in(cast.member)
    question = {
        "start_date": "2026-03-01",
        "end_date": "2026-03-07",
        "granularity": "day",
        "f0": "service",
        "f0v": "Compute",
        "f1": "region",
        "f1op": "not_in",
        "f1v": "us",
    }
    chart = client.get("/a/acme/cost-explorer/", question).content.decode()
    address = f"{NEW}?{urlencode(question)}"
    form = client.get(address).content.decode()

    assert f'href="{NEW}?' in html.unescape(chart)
    assert 'value="2026-03-07"' in form
    assert "service=Compute</textarea>" in form
    assert "1 filter of the chart cannot be a scope" in form

    answer = client.post(address, FORM | {"scope": "service=Compute"})
    assert answer.headers["Location"].startswith("/a/acme/cost-explorer/?start_date=2026-03-01")
    note = only_note(cast)
    assert (note.origin, note.kind, note.title) == ("note", "note", FORM["title"])
    assert note.occurred_at == datetime(2026, 3, 3, 12, tzinfo=UTC)
    assert note.scope == {"service": ["Compute"]}
    assert note.created_by == cast.member
    chart = client.get(answer.headers["Location"]).content.decode()
    assert "View change events (1)" in chart
    assert "Note (1)" in chart
    with account_scope(cast.account):
        entry = AuditEntry.objects.get(action="note.create")
    assert (entry.target, entry.detail["scope"]) == (note.title, {"service": ["Compute"]})


def test_a_viewer_writes_none_and_sees_no_button(cast: Cast) -> None:
    client = signed_in(cast.viewer)

    assert client.get(NEW).status_code == 403
    assert client.post(NEW, FORM).status_code == 403
    assert b"Add note" not in client.get("/a/acme/cost-explorer/").content


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"title": " "}, "Enter a note."),
        ({"day": "soon"}, "Enter a day, such as 2026-11-02."),
        ({"scope": "Amazon EC2"}, "'Amazon EC2' is no scope. Write dimension=value"),
        (
            {"scope": "servise=EC2"},
            "Scope must name dimensions of cost, and 'servise' is none. Nearest: service",
        ),
        ({"url": "ftp://example.com"}, "Url must be an http or https address"),
    ],
)
def test_a_form_says_what_to_enter_instead(cast: Cast, fields: dict[str, str], message: str) -> None:
    answer = signed_in(cast.member).post(NEW, FORM | fields)

    assert answer.status_code == 422
    assert message in html.unescape(answer.content.decode())


def test_its_author_and_admins_change_a_note_and_nobody_else(cast: Cast) -> None:
    note = write_note(cast, signed_in(cast.member))
    edit, delete = f"/a/acme/events/notes/{note.pk}/edit/", f"/a/acme/events/notes/{note.pk}/delete/"
    with account_scope(cast.account):
        other = create_note(
            account=cast.account, actor=ACTOR, draft=NoteDraft(day=DAY, title="Of somebody else")
        )
    author, admin = signed_in(cast.member), signed_in(cast.admin)

    assert author.get(f"/a/acme/events/notes/{other.pk}/edit/").status_code == 403
    assert author.post(f"/a/acme/events/notes/{other.pk}/delete/").status_code == 403
    assert signed_in(cast.viewer).get(edit).status_code == 403
    page = author.get("/a/acme/events/").content.decode()
    assert (edit in page, f"notes/{other.pk}/edit" in page) == (True, False)
    assert "service=Amazon EC2\ntag:team=payments</textarea>" in author.get(edit).content.decode()

    assert author.post(edit, FORM | {"title": "Prices fell", "scope": ""}).status_code == 302
    assert admin.post(edit, FORM | {"title": "Prices fell by 5%", "scope": ""}).status_code == 302
    note.refresh_from_db()
    assert (note.title, note.scope, note.created_by) == ("Prices fell by 5%", {}, cast.member)
    assert admin.post(delete).status_code == 302
    assert author.get(edit).status_code == 404
    with account_scope(cast.account):
        assert list(ChangeEvent.objects.all()) == [other]
        actions = AuditEntry.objects.filter(target__startswith="Prices").order_by("id")
        assert [each.action for each in actions] == [
            "note.create",
            "note.change",
            "note.change",
            "note.delete",
        ]


def test_an_event_of_a_source_is_no_note_to_change(cast: Cast) -> None:
    with account_scope(cast.account):
        derived = ChangeEvent.objects.create(
            account=cast.account,
            origin="derived",
            kind="change",
            title="New service",
            occurred_at=datetime(2026, 3, 3, tzinfo=UTC),
        )

    assert signed_in(cast.owner).get(f"/a/acme/events/notes/{derived.pk}/edit/").status_code == 404


def test_an_account_has_a_limit_of_notes(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "MAX_NOTES", 1)
    draft = NoteDraft(day=DAY, title="One")
    create_note(account=cast.account, actor=ACTOR, draft=draft)

    with pytest.raises(UserError, match="An account has up to 1 notes"):
        create_note(account=cast.account, actor=ACTOR, draft=draft)


def test_the_address_of_the_title_is_that_of_the_list_too(cast: Cast) -> None:
    note = write_note(cast, signed_in(cast.member))

    for path in ("events", "change-events"):
        assert note.title in signed_in(cast.viewer).get(f"/a/acme/{path}/").content.decode()
