"""The cost explorer's question becomes a widget."""

from __future__ import annotations

from accounts.scoping import account_scope
from finops.dashboards.models import Widget
from finops.dashboards.services import create_dashboard
from tests.cast import ACTOR, Cast, signed_in

ADD = "/a/acme/dashboards/add/"
QUESTION = "?period=last_90_days&granularity=week&group_by=region&group_by=account&limit=50&f0=service&f0v=EC2&f0v=S3"


def test_days_filters_and_first_group_of_a_question_are_the_widgets(cast: Cast) -> None:
    board = create_dashboard(account=cast.account, actor=ACTOR, name="Review")

    answer = signed_in(cast.member).post(f"{ADD}{QUESTION}", {"dashboard": board.pk, "title": "Regions"})

    assert answer["Location"] == f"/a/acme/dashboards/{board.pk}/"
    with account_scope(cast.account):
        widget = Widget.objects.get()
    assert (widget.type, widget.title) == ("spend_over_time", "Regions")
    assert widget.config == {
        "period": "last_90_days",
        "granularity": "week",
        "group_by": ["region"],
        "limit": 25,
        "filters": [{"dimension": "service", "op": "in", "values": ["EC2", "S3"]}],
    }


def test_options_that_a_widget_cannot_have_are_named_before(cast: Cast) -> None:
    create_dashboard(account=cast.account, actor=ACTOR, name="Review")
    member = signed_in(cast.member)

    page = member.get(f"{ADD}{QUESTION}&compare_to=previous_year").content.decode()

    assert "Not kept: comparison, second group." in page
    assert "Not kept" not in member.get(f"{ADD}?period=last_7_days&group_by=region").content.decode()


def test_a_personal_board_of_another_person_is_not_offered(cast: Cast) -> None:
    board = create_dashboard(account=cast.account, actor=ACTOR, name="Private", owner=cast.owner)
    member = signed_in(cast.member)

    assert "No dashboards" in member.get(f"{ADD}{QUESTION}").content.decode()
    assert member.post(f"{ADD}{QUESTION}", {"dashboard": board.pk}).status_code == 422
    with account_scope(cast.account):
        assert not Widget.objects.exists()


def test_a_viewer_adds_nothing(cast: Cast) -> None:
    assert signed_in(cast.viewer).get(f"{ADD}{QUESTION}").status_code == 403
    assert "Add to dashboard" not in signed_in(cast.viewer).get("/a/acme/cost-explorer/").content.decode()
