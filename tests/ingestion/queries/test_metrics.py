from __future__ import annotations

from datetime import date

import pytest

from accounts.models import Account
from finops.lib.errors import UserError
from finops.lib.periods import DateRange
from ingestion.models import UsageMetric
from ingestion.queries import MetricQuery, find_metric, read_usage, usage_metrics
from tests.factories.usage import add_metrics, event, store_usage, usage_source

MARCH = DateRange(date(2026, 3, 1), date(2026, 3, 31))


def test_metrics_come_with_their_units_and_the_days_of_their_events(acme: Account) -> None:
    events = [
        event(date(2026, 2, 3), "a", 1, unit="call"),
        event(date(2026, 3, 4), "b", 1, unit="calls"),
        event(date(2026, 3, 5), "b", 1),
        event(date(2026, 3, 6), "b", 1, metric="seats"),
    ]
    add_metrics(acme, [*events, event(date(2026, 3, 6), "b", 1, metric="unseen")], seats="average_of_days")
    store_usage(acme, events, source=usage_source(acme))

    requests, seats, unseen = usage_metrics(acme)

    assert (requests.name, requests.aggregation, requests.units) == ("requests", "sum", ["call", "calls"])
    assert (requests.first_day, requests.last_day) == (date(2026, 2, 3), date(2026, 3, 5))
    assert (seats.aggregation, seats.units) == ("average_of_days", [])
    assert (unseen.first_day, unseen.last_day) == (None, None)


def test_without_a_push_there_is_no_metric_and_no_usage(acme: Account) -> None:
    assert usage_metrics(acme) == []
    answer = read_usage(acme, MetricQuery("requests", MARCH, by="customer"))
    assert (answer.total, answer.groups, answer.days_with_data) == (None, [], 0)


def test_a_metric_is_found_by_its_name_in_any_case_and_by_its_label(acme: Account) -> None:
    metrics = [UsageMetric(name="API calls"), UsageMetric(name="seats", label="Paid seats")]
    assert find_metric(metrics, "API calls").name == "API calls"
    assert find_metric(metrics, " api CALLS").name == "API calls"
    assert find_metric(metrics, "paid seats").name == "seats"


def test_two_metrics_that_differ_in_case_are_two_metrics(acme: Account) -> None:
    metrics = [UsageMetric(name="Calls"), UsageMetric(name="calls")]
    assert find_metric(metrics, "calls").name == "calls"
    with pytest.raises(UserError, match="Nearest: "):
        find_metric(metrics, "CALLS")


def test_an_unknown_metric_names_the_nearest_and_what_lists_them(acme: Account) -> None:
    add_metrics(acme, [event(MARCH.start, "a", 1), event(MARCH.start, "a", 1, metric="seats")])
    with pytest.raises(UserError) as error:
        read_usage(acme, MetricQuery("request", MARCH))
    assert (
        error.value.message
        == "usage_metric: 'request' does not exist. Nearest: 'requests'. Use getAccountContext."
    )


def test_an_invalid_query_names_its_part(acme: Account) -> None:
    add_metrics(acme, [event(MARCH.start, "a", 1)])
    with pytest.raises(UserError, match="granularity: 'hour' does not exist"):
        read_usage(acme, MetricQuery("requests", MARCH, granularity="hour"))
    with pytest.raises(UserError, match="group_by: 'region' does not exist"):
        read_usage(acme, MetricQuery("requests", MARCH, by="region"))
