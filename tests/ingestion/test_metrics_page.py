"""Settings → Metrics: what is counted and how it adds up."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from accounts.scoping import account_scope
from finops.lib.periods import DateRange
from ingestion.models import UsageMetric
from ingestion.queries import MetricQuery, read_usage
from ingestion.views.metrics import EXAMPLE_EVENTS, EXAMPLES
from tests.cast import Cast, signed_in
from tests.ingestion.push_client import create_push_client, event
from tests.pages import get_page, text_of

LIST = "/a/acme/settings/metrics/"
DAYS = {"Monday": "2026-11-16T10:00:0{}Z", "Tuesday": "2026-11-17T10:00:0{}Z"}


def metric_of(cast: Cast, name: str = "requests") -> UsageMetric:
    return UsageMetric.objects.unscoped().get(account=cast.account, name=name)


def test_an_empty_list_says_where_metrics_come_from(cast: Cast) -> None:
    page = get_page(signed_in(cast.viewer), LIST)

    assert "No metrics yet" in page
    assert "Aggregation over days" in page


def test_the_list_has_units_and_days_sorts_and_exports(cast: Cast) -> None:
    push_client = create_push_client(cast)
    push_client.push(
        event(metric="b", unit="GB"), event(metric="b", unit="MB", timestamp="2026-01-02"), event(metric="a")
    )
    create_push_client(cast, cast.other_account).push(event(metric="theirs"))
    client = signed_in(cast.viewer)

    page, lines = get_page(client, LIST), client.get(f"{LIST}?format=csv").getvalue().decode().splitlines()

    assert "Several units" in page
    assert lines == [
        "Metric,Label,Aggregation,Units,First day,Last day",
        "a,,Sum,,2026-11-20,2026-11-20",
        'b,,Sum,"GB, MB",2026-01-02,2026-11-20',
    ]


def test_a_member_says_how_a_metric_adds_up_and_what_to_call_it(cast: Cast) -> None:
    create_push_client(cast).push(event())
    client, page = signed_in(cast.member), f"{LIST}{metric_of(cast).pk}/"
    form = get_page(client, page)

    answer = client.post(page, {"aggregation": "max", "label": "Peak requests"}, follow=True)

    assert (
        "Applies to all usage and unit cost of this metric, including past days. Events are "
        "unchanged, so you can change it back."
    ) in form
    assert "set to “Highest value”" in text_of(answer)
    assert (metric_of(cast).aggregation, metric_of(cast).label) == ("max", "Peak requests")


@pytest.mark.parametrize("data", [{}, {"aggregation": "median"}, {"aggregation": "sum", "label": "x" * 101}])
def test_an_invalid_or_too_long_aggregation_is_refused(cast: Cast, data: dict[str, str]) -> None:
    create_push_client(cast).push(event())

    answer = signed_in(cast.member).post(f"{LIST}{metric_of(cast).pk}/", data)

    assert answer.status_code == 422
    assert (metric_of(cast).aggregation, metric_of(cast).label) == ("sum", "")


def test_a_viewer_reads_it_and_may_not_change_it(cast: Cast) -> None:
    create_push_client(cast).push(event())
    client, page = signed_in(cast.viewer), f"{LIST}{metric_of(cast).pk}/"

    assert "Only members, admins and owners can change this." in get_page(client, page)
    assert client.post(page, {"aggregation": "max"}).status_code == 403
    assert metric_of(cast).aggregation == "sum"


def test_another_accounts_metric_is_not_found(cast: Cast) -> None:
    create_push_client(cast, cast.other_account).push(event(metric="theirs"))
    foreign_metric = UsageMetric.objects.unscoped().get(name="theirs")

    assert signed_in(cast.member).get(f"{LIST}{foreign_metric.pk}/").status_code == 404


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.aggregation)
def test_the_examples_are_what_answers_say(cast: Cast, example: Any) -> None:
    push_client = create_push_client(cast)
    for second, (day, customer, quantity) in enumerate(EXAMPLE_EVENTS):
        push_client.push(
            event(customer_id=customer, quantity=int(quantity), timestamp=DAYS[day].format(second))
        )
    signed_in(cast.member).post(f"{LIST}{metric_of(cast).pk}/", {"aggregation": example.aggregation})

    with account_scope(cast.account):
        days = DateRange(date(2026, 11, 16), date(2026, 11, 17))
        usage = read_usage(cast.account, MetricQuery(metric="requests", days=days))

    assert usage.total == example.answer
    assert example.label == UsageMetric.Aggregation(example.aggregation).label
