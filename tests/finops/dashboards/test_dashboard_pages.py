"""The pages: the list, a board and its widgets, arranging them, and who may."""

from __future__ import annotations

import json
import re
from datetime import date, timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation.cost_tags.uses import uses_of
from finops.costs.services.saved_views import create_saved_view
from finops.costs.spend_query import SpendQuery
from finops.dashboards.layouts import place_of
from finops.dashboards.models import Dashboard
from finops.dashboards.placement import Place
from finops.dashboards.widgets import CATALOGUE
from finops.lake.schema import extension_column
from tests.cast import ACTOR, Cast, signed_in
from tests.factories.costs import add_source, cost
from tests.factories.dashboards import REQUIRED_SETTINGS, create_board, widget
from tests.finops.dashboards.conftest import URL
from tests.pages import get_html

pytestmark = pytest.mark.django_db


def test_the_list_has_shared_boards_and_ones_own(acme: Account, cast: Cast, member: Client) -> None:
    assert "No dashboards yet" in get_html(member, URL)
    create_board(acme, "Shared")
    create_board(acme, "Mine", owner=cast.member)
    create_board(acme, "Of the owner", owner=cast.owner)

    page = get_html(member, URL)
    lines = get_html(member, f"{URL}?format=csv").splitlines()

    assert "1 of 20 shared dashboards" in page
    assert "Of the owner" not in page
    assert [line.split(",")[:2] for line in lines[1:]] == [["Mine", "only you"], ["Shared", "everybody"]]


def test_a_board_is_made_with_the_spend_overview_renamed_and_deleted(payer: Account, member: Client) -> None:
    response = member.post(f"{URL}new/", {"name": "Weekly", "who": "shared", "starter": "spend"})
    row = Dashboard.objects.get()
    assert response["Location"] == f"{URL}{row.pk}/"
    assert {each.type for each in row.widgets.all()} >= {"total", "budget_status", "unit_cost", "usage"}

    again = member.post(f"{URL}new/", {"name": "weekly", "who": "shared", "starter": "empty"})
    assert again.status_code == 422
    assert f"Dashboard &#x27;Weekly&#x27; already exists with id {row.pk}" in again.content.decode()

    member.post(f"{URL}{row.pk}/edit/", {"name": "Monthly", "who": "mine"})
    row.refresh_from_db()
    assert (row.name, row.is_shared) == ("Monthly", False)

    member.post(f"{URL}{row.pk}/delete/")
    assert not Dashboard.objects.exists()


def test_a_board_of_ai_spend_shows_nothing_else(acme: Account, member: Client) -> None:
    day = date(2026, 3, 10)
    model = {extension_column("Model"): "claude-sonnet-4-5"}
    add_source(
        acme,
        [
            cost(day, 30, provider="Anthropic", service="Claude API", **model),
            cost(day, 7, provider="AWS", service="Amazon EC2"),
        ],
    )

    member.post(f"{URL}new/", {"name": "AI", "who": "shared", "starter": "ai_spend"})

    pages = {
        each.title: get_html(member, f"{URL}widgets/{each.pk}/")
        for each in Dashboard.objects.get().widgets.all()
    }
    # Nothing was there before that changes could be counted from.
    assert [title for title, page in pages.items() if "30.00" not in page] == ["Changes by model"]
    assert [title for title, page in pages.items() if "37.00" in page or "Amazon EC2" in page] == []
    assert "claude-sonnet-4-5" in pages["Last 90 days by model"]


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_type_of_widget_answers_with_data_and_without(
    payer: Account, cast: Cast, member: Client, name: str
) -> None:
    dashboard = create_board(
        payer,
        "All",
        widget(name, **{"text": "Read <b>me</b>"} if name == "text" else REQUIRED_SETTINGS.get(name, {})),
    )
    url = f"{URL}widgets/{dashboard.widgets.get().pk}/"

    page = get_html(member, url)
    narrowed = get_html(member, f"{url}?start_date=2026-03-01&end_date=2026-03-10&f0=region&f0v=eu")

    assert "alert-danger" not in page + narrowed
    expected = {
        "spend_over_time": "data-chart",
        "text": "Read &lt;b&gt;me&lt;/b&gt;",
        "budget_status": "Everything",
        "usage": "data-chart",
        "unit_cost": "data-chart",
        "commitment_utilization": "commitment",
        "anomalies": "anomal",
        "savings": "Savings",
    }
    assert expected.get(name, "$") in page
    if CATALOGUE[name].takes_filters and name not in ("commitment_utilization", "unit_cost", "top_movers"):
        assert "25.00" in narrowed
    if name == "budget_status":
        assert "days and filters do not apply here" in narrowed


def test_filters_of_a_board_are_chips_that_htmx_replaces_with_the_widgets(
    payer: Account, member: Client
) -> None:
    dashboard = create_board(payer, "Weekly", widget("total"))
    url = f"{URL}{dashboard.pk}/?period=last_7_days&f0=region&f0op=in&f0v=eu"

    page = get_html(member, url)
    part = member.get(url, headers={"HX-Request": "true"}).content.decode()

    for text in (page, part):
        assert 'title="Region is eu"' in text
        assert "Last 7 days" in text
    assert "hx-swap-oob" not in page
    assert 'id="board-question"' in part
    assert 'hx-swap-oob="true"' in part
    assert "<html" not in part


def test_a_widget_says_what_of_its_days_is_incomplete(payer: Account, member: Client) -> None:
    dashboard = create_board(payer, "Weekly", widget("total", period="last_7_days"))
    row = dashboard.widgets.get()

    page = get_html(member, f"{URL}widgets/{row.pk}/?start_date=2026-03-01&end_date=2026-03-20")
    complete = get_html(member, f"{URL}widgets/{row.pk}/?start_date=2026-02-20&end_date=2026-02-28")

    assert re.search(r"\d notes?\s*</summary>", page)
    assert "Later days are incomplete." in page
    assert "</summary>" not in complete


def test_the_days_and_filters_of_the_board_go_to_every_widget(payer: Account, member: Client) -> None:
    dashboard = create_board(payer, "Weekly", widget("total"), widget("text"))

    page = get_html(member, f"{URL}{dashboard.pk}/?period=last_7_days&f0=region&f0op=in&f0v=eu&f1=service")

    query_string = "?period=last_7_days&amp;f0=region&amp;f0op=in&amp;f0v=eu"
    for each in dashboard.widgets.all():
        assert f'{URL}widgets/{each.pk}/{query_string}"' in page


def test_a_bad_question_says_what_to_mend(payer: Account, member: Client) -> None:
    dashboard = create_board(payer, "Weekly", widget("total"))
    pk = dashboard.widgets.get().pk

    assert "Nearest" in get_html(member, f"{URL}widgets/{pk}/?f0=regoin&f0v=eu")
    get_html(member, f"{URL}{dashboard.pk}/?start_date=2026-03-10&end_date=2026-03-01", status=400)


def test_a_viewer_reads_and_changes_nothing(payer: Account, cast: Cast) -> None:
    dashboard = create_board(payer, "Weekly", widget("total"))
    pk = dashboard.widgets.get().pk
    viewer = signed_in(cast.viewer)

    page = get_html(viewer, f"{URL}{dashboard.pk}/")
    assert "Weekly" in page
    assert "Add widget" not in page
    assert "Duplicate" not in page
    assert "board-grip" not in page
    get_html(viewer, f"{URL}widgets/{pk}/")
    for url in ("new/", f"{dashboard.pk}/edit/", f"{dashboard.pk}/widgets/new/", f"widgets/{pk}/edit/"):
        assert viewer.get(f"{URL}{url}").status_code == 403
    for url in (
        "new/",
        f"{dashboard.pk}/delete/",
        f"{dashboard.pk}/layout/",
        f"{dashboard.pk}/undo/",
        f"widgets/{pk}/remove/",
    ):
        assert viewer.post(f"{URL}{url}").status_code == 403


def test_a_personal_board_of_another_is_not_there(acme: Account, cast: Cast) -> None:
    own_board = create_board(acme, "Mine", widget("text", text="secret"), owner=cast.member)
    pk = own_board.widgets.get().pk
    owner = signed_in(cast.owner)

    for url in (
        f"{own_board.pk}/",
        f"{own_board.pk}/edit/",
        f"{own_board.pk}/widgets/new/",
        f"widgets/{pk}/",
        f"widgets/{pk}/edit/",
    ):
        get_html(owner, f"{URL}{url}", status=404)
    for url in (
        f"{own_board.pk}/delete/",
        f"{own_board.pk}/layout/",
        f"{own_board.pk}/undo/",
        f"widgets/{pk}/remove/",
    ):
        assert owner.post(f"{URL}{url}").status_code == 404
    assert "secret" in get_html(signed_in(cast.member), f"{URL}widgets/{pk}/")


def places_json(*places: tuple[int, int, int, int, int]) -> str:
    return json.dumps([dict(zip(("id", "x", "y", "w", "h"), place, strict=True)) for place in places])


def test_a_layout_is_saved_or_refused_as_a_whole(acme: Account, member: Client) -> None:
    dashboard = create_board(acme, "Weekly", widget("total"), widget("text"))
    first, other = (each.pk for each in dashboard.widgets.all())
    url = f"{URL}{dashboard.pk}/"

    def refuse_layout(layout: str) -> str:
        assert member.post(f"{url}layout/", {"layout": layout}).status_code == 400
        return get_html(member, url)

    saved = member.post(
        f"{url}layout/", {"layout": places_json((first, 6, 0, 6, 3), (other, 0, 0, 6, 3))}
    ).json()
    assert saved == {"undo": "Undo: Layout changed"}
    assert "have the same position" in refuse_layout(places_json((first, 0, 0, 6, 3), (other, 0, 0, 3, 3)))
    assert "The widget no longer exists. Reload the page." in refuse_layout(
        places_json((first, 0, 0, 6, 3), (other + 1, 6, 0, 3, 3))
    )
    for unreadable in ("nonsense", '[{"a":' + "[" * 100_000):
        assert "The layout could not be read. Reload the page and try again." in refuse_layout(unreadable)

    assert [place_of(each) for each in dashboard.widgets.all()] == [Place(6, 0, 6, 3), Place(0, 0, 6, 3)]


def widgets_of(dashboard: Dashboard) -> list[tuple[str, str, dict[str, Any], Place]]:
    return [(each.type, each.title, each.config, place_of(each)) for each in dashboard.widgets.all()]


def test_each_change_of_a_board_can_be_undone_the_last_first(acme: Account, member: Client) -> None:
    dashboard = create_board(
        acme, "Weekly", widget("total", title="This month"), widget("text", title="Note", text="Read me")
    )
    url, before = f"{URL}{dashboard.pk}/", widgets_of(dashboard)
    first, other = (each.pk for each in dashboard.widgets.all())
    assert "hidden" in undo_button(member, url)

    member.post(f"{url}layout/", {"layout": places_json((first, 6, 0, 6, 3), (other, 0, 0, 6, 3))})
    moved = widgets_of(dashboard)
    member.post(f"{URL}widgets/{other}/remove/")
    assert [each[1] for each in widgets_of(dashboard)] == ["This month"]

    assert "Undo: Removed “Note”" in undo_button(member, url)
    assert "Undone: Removed “Note”" in member.post(f"{url}undo/", follow=True).content.decode()
    assert widgets_of(dashboard) == moved
    assert "Undo: Layout changed" in undo_button(member, url)
    member.post(f"{url}undo/")
    assert widgets_of(dashboard) == before
    assert "There is no change to undo." in member.post(f"{url}undo/", follow=True).content.decode()


def test_a_later_change_of_another_person_is_not_undone(acme: Account, cast: Cast, member: Client) -> None:
    dashboard = create_board(acme, "Weekly", widget("total", title="This month"))
    url, pk = f"{URL}{dashboard.pk}/", dashboard.widgets.get().pk
    member.post(f"{URL}widgets/{pk}/duplicate/")
    signed_in(cast.owner).post(f"{URL}widgets/{pk}/remove/")

    assert "hidden" in undo_button(member, url)
    undone = member.post(f"{url}undo/", follow=True).content.decode()
    assert "The dashboard has changed since. Its last change cannot be undone." in undone
    assert len(widgets_of(dashboard)) == 1


def undo_button(client: Client, url: str) -> str:
    button = re.search(r'<button[^>]*id="undo"[^>]*>', get_html(client, url))
    assert button is not None
    return button[0]


def test_a_copy_of_a_widget_takes_the_first_free_place(acme: Account, member: Client) -> None:
    dashboard = create_board(acme, "Weekly", widget("text", (0, 0, 6, 2), "Note", text="Read me"))

    member.post(f"{URL}widgets/{dashboard.widgets.get().pk}/duplicate/")

    first, copied = widgets_of(dashboard)
    assert copied == (*first[:3], Place(6, 0, 6, 2))


@pytest.mark.parametrize(
    "name", ["total", "spend_by", "table", "spend_over_time", "top_movers", "cost_tag_breakdown"]
)
def test_a_widget_shows_one_currency_at_a_time(payer: Account, member: Client, name: str) -> None:
    first = date(2026, 1, 8)
    euros = [cost(first + timedelta(days=count), "1.25", currency="EUR") for count in range(70)]
    add_source(payer, euros, name="Euros")
    dashboard = create_board(payer, "All", widget(name, **REQUIRED_SETTINGS.get(name, {})))
    url = f"{URL}widgets/{dashboard.widgets.get().pk}/"

    dollars, in_euros = get_html(member, url), get_html(member, f"{url}?currency=eur")

    pressed = re.compile(r'data-currency="(...)"\s+aria-pressed="true"')
    assert pressed.findall(dollars) == ["USD"]
    assert pressed.findall(in_euros) == ["EUR"]
    assert "36.25" in in_euros
    assert "36.25" not in re.sub("<caption.*?</caption>", "", dollars, flags=re.DOTALL)
    assert get_html(member, f"{url}?currency=ZZZ") == dollars


def test_a_cost_tag_that_a_board_uses_names_the_board(payer: Account, cast: Cast) -> None:
    create_board(payer, "Weekly", widget("cost_tag_breakdown", cost_tag="ENV"))
    create_board(payer, "Mine", widget("spend_by", group_by=["cost_tag:env"]), owner=cast.member)

    with account_scope(payer):
        assert uses_of(payer, "cost_tag:env") == ["dashboard Weekly", "a personal dashboard"]


def test_a_cost_tag_that_a_saved_view_uses_names_the_view(payer: Account, cast: Cast) -> None:
    query = SpendQuery(group_by=["cost_tag:ENV"])
    create_saved_view(account=payer, actor=ACTOR, name="By env", query=query)
    create_saved_view(account=payer, actor=ACTOR, name="Mine", query=query, owner=cast.member)
    create_saved_view(account=payer, actor=ACTOR, name="Other", query=SpendQuery())

    with account_scope(payer):
        assert uses_of(payer, "cost_tag:env") == ["saved view By env", "a personal saved view"]
