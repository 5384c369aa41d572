"""Every chart over time marks change events, or has a reason not to: a template that draws a chart is in one of two lists."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from accounts.audit import Actor
from accounts.models import Account, Membership
from accounts.scoping import account_scope
from finops.allocation.models import CostTag, Team, TeamKey, TeamValue
from finops.budgets.models import Budget
from finops.change_events.models import ChangeEvent
from finops.cost_access.services import create_limit, limit_member
from finops.costs.spend_query import CostFilter
from finops.dashboards.models import Widget
from finops.insights.models import Anomaly
from finops.lib import clock
from finops.lib.chart_markers import MAX_LISTED
from finops.unitcosts.models import UnitMetric
from ingestion.models import Customer
from tests.cast import Cast, signed_in
from tests.factories.budgets import create_budget, source_scope
from tests.factories.costs import add_source
from tests.factories.dashboards import create_board, widget
from tests.factories.days import NOON
from tests.factories.usage import event, push_events
from tests.finops.ai_spend.test_review import claude
from tests.finops.insights.anomalies.bills import FIRST, SPIKE, bill, run_detection, with_extra
from tests.finops.insights.commitments.test_commitments import commitment_line

TEMPLATES = Path("templates")
DRAWS = re.compile(r'data-chart=|\{% drawing |"(?:costs/_charts|_chart|mail/_chart)\.html"')
PARTS = ["_chart.html", "costs/_charts.html"]
"""What draws the charts of others."""

DAYS = f"start_date={SPIKE - timedelta(days=9)}&end_date={SPIKE + timedelta(days=9)}&granularity=day"
MARKED = {
    "ai_spend/_ai_spend_result.html": f"ai-spend/?{DAYS}",
    "allocation/team.html": "teams/{team}/",
    "budgets/_burn_up.html": "budgets/{budget}/",
    "budgets/_forecast_chart.html": "forecast/?period=month",
    "budgets/_past.html": "budgets/{budget}/",
    "costs/_explorer_answer.html": f"cost-explorer/?{DAYS}",
    "costs/_explorer_result.html": f"cost-tags/{{cost_tag}}/?{DAYS}",
    "costs/overview.html": "",
    "dashboards/widgets/spend_over_time.html": f"dashboards/widgets/{{spend}}/?{DAYS}",
    "dashboards/widgets/unit_cost.html": f"dashboards/widgets/{{unit_cost}}/?{DAYS}",
    "dashboards/widgets/usage.html": f"dashboards/widgets/{{usage}}/?{DAYS}",
    "ingestion/_usage_result.html": f"usage/?usage_metric=requests&{DAYS}",
    "ingestion/customer.html": "customers/{customer}/",
    "insights/_commitments_result.html": f"commitments/?{DAYS}",
    "insights/anomaly.html": "anomalies/{anomaly}/",
    "reports/_trend.html": "reports/?month=2026-03",
    "unitcosts/_trend.html": f"unit-economics/?usage_metric=requests&{DAYS}",
}
"""Templates that mark events, with a page that shows the chart."""

WITHOUT = {
    "activity/activity.html": "calls of assistants: no cost and no usage of the account's products",
    "alerts/mail/message.html": "a picture in an email, which has no list of the events beside it",
    "allocation/_cost_tag_effect.html": "bars by value of a cost tag, not over time",
    "allocation/_split_effect.html": "bars by value before and after a split, not over time",
    "ingestion/_activity.html": "requests by time of receipt: the health of a source",
    "ingestion/billing.html": "what the meter counted by month of receipt: no cost and no usage of products",
    "insights/_waterfall.html": "drivers of a change, not over time; candidates stand beside it",
    "operations/_charts.html": "operators of the service see no account's events",
}
"""Templates whose charts have no events, with the reason."""


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    """Cost and usage of every kind that a chart shows, and a deployment in the middle of March 2026."""
    with clock.frozen(NOON):
        with account_scope(cast.account):
            fill(cast.account)
        yield cast.account


def fill(account: Account) -> None:
    days = [SPIKE + timedelta(days=index) for index in range(-9, 10)]
    source = add_source(
        account,
        [
            *bill(with_extra(SPIKE, SPIKE + timedelta(days=1), "300"), first=FIRST),
            *(claude(day, "2.70", "claude-sonnet-4-5", "uncached_input_tokens", "1000") for day in days),
            *(commitment_line("75", "Used", day) for day in days),
        ],
    )
    push_events(account, [event(day, "globex", "10", metric="requests") for day in days])
    TeamKey.objects.create(dimension="service")
    TeamValue.objects.create(team=Team.objects.create(name="Core"), value="Compute")
    CostTag.objects.create(key="env", rules=[])
    UnitMetric.objects.create(name="Per request", usage_metric="requests")
    create_budget(account, "Cloud", 5000, scope=source_scope(source.name))
    create_board(
        account,
        "Weekly",
        widget("spend_over_time"),
        widget("unit_cost", unit_metric="Per request", granularity="day"),
        widget("usage", usage_metric="requests"),
    )
    run_detection(account)
    add_event("checkout v142", actor="Ada", url="https://git.example.com/142")


def add_event(title: str, day: date = SPIKE, **fields: Any) -> None:
    moment = datetime.combine(day, NOON.timetz())
    ChangeEvent.objects.create(origin="note", kind="deployment", title=title, occurred_at=moment, **fields)


def address(account: Account, path: str) -> str:
    """With the account's rows in place of the names in braces."""
    with account_scope(account):
        widgets = dict(Widget.objects.values_list("type", "pk"))
        ids = {
            "team": Team.objects.get().pk,
            "budget": Budget.objects.get().pk,
            "cost_tag": CostTag.objects.get().pk,
            "customer": Customer.objects.get().pk,
            "anomaly": Anomaly.objects.get(dimension="service", value="Compute").key,
            "spend": widgets["spend_over_time"],
            "unit_cost": widgets["unit_cost"],
            "usage": widgets["usage"],
        }
    return f"/a/{account.slug}/{path.format(**ids)}"


def test_every_template_that_draws_a_chart_marks_events_or_says_why_not() -> None:
    drawing = {
        str(path.relative_to(TEMPLATES))
        for path in TEMPLATES.rglob("*.html")
        if DRAWS.search(path.read_text())
    }

    assert sorted(drawing - set(PARTS)) == sorted([*MARKED, *WITHOUT])


@pytest.mark.parametrize("template", MARKED)
def test_a_page_marks_an_event_on_its_charts_and_lists_it(cast: Cast, acme: Account, template: str) -> None:
    answer = signed_in(cast.viewer).get(address(acme, MARKED[template]))
    page = answer.content.decode()

    assert answer.status_code == 200
    assert template in {each.name for each in answer.templates}
    assert markers_of_charts(page), "no chart"
    assert all(titles == ["checkout v142 (Ada)"] for titles in markers_of_charts(page))
    assert (
        '<a href="https://git.example.com/142" rel="noopener noreferrer nofollow">checkout v142</a>' in page
    )
    assert '<td class="cell-name" data-label="Actor">Ada</td>' in page
    assert "dashboards/widgets/" in MARKED[template] or "data-chart-markers" in page


@pytest.mark.parametrize("template", MARKED)
def test_a_limited_reader_sees_no_event_of_other_cost(cast: Cast, acme: Account, template: str) -> None:
    """Every event of the account is of cost outside of the limit, or of all cost."""
    with account_scope(acme):
        add_event("secret launch", scope={"service": ["EC2"]})
    limit_viewer(cast)

    page = signed_in(cast.viewer).get(address(acme, MARKED[template])).content.decode()

    assert "secret launch" not in page
    assert "checkout v142" not in page


def test_a_limited_reader_sees_the_events_within_the_limit(cast: Cast, acme: Account) -> None:
    with account_scope(acme):
        add_event("compute grows", scope={"service": ["Compute"]})
    limit_viewer(cast)

    for template in ("costs/overview.html", "budgets/_forecast_chart.html", "reports/_trend.html"):
        page = signed_in(cast.viewer).get(address(acme, MARKED[template])).content.decode()
        assert markers_of_charts(page) == [["compute grows"]] * len(markers_of_charts(page)) != [], template


def limit_viewer(cast: Cast) -> None:
    """To the service Compute."""
    admin = Actor.of_user(cast.owner)
    only = [[CostFilter(dimension="service", values=["Compute"])]]
    limit = create_limit(account=cast.account, actor=admin, name="Compute", alternatives=only)
    membership = Membership.objects.get(account=cast.account, user=cast.viewer)
    limit_member(membership=membership, limit=limit, actor=admin)


def test_a_budget_and_a_forecast_have_the_events_of_their_own_scope(cast: Cast, acme: Account) -> None:
    with account_scope(acme):
        add_event("of the bill", scope={"source": ["Bill"]})
        add_event("of another bill", scope={"source": ["Other"]})
        add_event("of storage", scope={"service": ["Storage"]})
    viewer = signed_in(cast.viewer)

    budget = viewer.get(address(acme, "budgets/{budget}/")).content.decode()
    forecast = viewer.get(address(acme, "forecast/?period=month&f0=service&f0v=Compute")).content.decode()

    both = ["checkout v142 (Ada)", "of the bill", "of storage"]
    assert markers_of_charts(budget) == [both, both]
    assert markers_of_charts(forecast) == [["checkout v142 (Ada)", "of the bill", "of another bill"]]


def test_events_of_earlier_periods_are_on_the_chart_of_earlier_periods_alone(
    cast: Cast, acme: Account
) -> None:
    with account_scope(acme):
        add_event("in February", date(2026, 2, 10))

    page = signed_in(cast.viewer).get(address(acme, "budgets/{budget}/")).content.decode()

    assert markers_of_charts(page) == [["checkout v142 (Ada)"], ["in February", "checkout v142 (Ada)"]]


def test_a_chart_marks_more_events_than_its_list_has_which_says_so(cast: Cast, acme: Account) -> None:
    with account_scope(acme):
        for number in range(MAX_LISTED):
            add_event(f"release {number}", SPIKE + timedelta(days=1))

    page = signed_in(cast.viewer).get(address(acme, MARKED["costs/_explorer_answer.html"])).content.decode()

    (spec,) = (json.loads(html.unescape(each)) for each in re.findall(r'data-chart="([^"]*)"', page))
    assert [each["events"][0]["count"] for each in spec["markers"]] == [1, MAX_LISTED]
    assert f"View change events (newest {MAX_LISTED} of {MAX_LISTED + 1})" in page
    assert page.count("data-marker-day=") == MAX_LISTED
    assert f"Deployment ({MAX_LISTED + 1})" in page


def markers_of_charts(page: str) -> list[list[str]]:
    """Titles on each chart over time, of those that the browser draws and those that the server has drawn."""
    specs = [json.loads(html.unescape(each)) for each in re.findall(r'data-chart="([^"]*)"', page)]
    titles = [
        [title for marker in spec.get("markers", []) for each in marker["events"] for title in each["titles"]]
        for spec in specs
    ]
    drawings = re.findall(r'<svg class="drawing .*?</svg>', page, re.DOTALL)
    return titles + [
        [tip.removeprefix("Deployment: ") for tip in re.findall(r"<title>(.*?)</title>", each)]
        for each in drawings
    ]
