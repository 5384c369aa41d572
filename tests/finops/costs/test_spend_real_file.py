"""The real sample file, imported and asked about, against the raw file read by plain Python."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from finops.costs import services
from finops.costs.queries import account_context, list_dimension_values, query_spend
from finops.costs.spend_query import Filter, SpendQuery
from tests.cast import Cast
from tests.finops.costs import reference_model

FILE = "focus-1.0-real/focus_sample.csv"


@pytest.fixture
def sample(acme: Account, cast: Cast) -> Account:
    source = services.create_cost_source(account=acme, name="Sample", actor=cast.actor)
    services.import_files(
        account=acme, source=source, paths=[reference_model.DATA / FILE], actor=cast.actor, defaults={}
    )
    return acme


def september(**more: Any) -> SpendQuery:
    return SpendQuery(start_date=date(2024, 9, 1), end_date=date(2024, 9, 30), **more)


def filter_of(dimension: str, *values: str) -> list[Filter]:
    return [Filter(dimension=dimension, values=list(values))]


@pytest.mark.parametrize(("basis", "index"), [("billed", 0), ("amortized", 1)])
def test_services_tags_and_totals_are_those_of_the_raw_file(sample: Account, basis: str, index: int) -> None:
    for dimension, by in (("service", "service"), ("tag:environment", "tag:environment")):
        answer = query_spend(sample, september(group_by=[dimension], basis=basis, limit=50))

        amounts = {row.group[dimension]: row.amount for row in answer.rows}
        absent = "(untagged)" if dimension.startswith("tag:") else "(none)"
        expected = {
            key if key is not None else absent: sums[index]
            for key, sums in reference_model.sums(FILE, by).items()
        }
        assert amounts == expected
        assert answer.truncated == ""
        assert [total.amount for total in answer.totals] == [reference_model.sums(FILE, "all")[None][index]]


def test_days_are_those_of_the_raw_file(sample: Account) -> None:
    answer = query_spend(sample, september(granularity="day"))

    expected = {day: billed for day, (billed, _) in reference_model.sums(FILE, "day").items()}
    assert {day: amount for day, amount in answer.totals[0].series.items() if amount} == {
        day: amount for day, amount in expected.items() if amount
    }


def test_ec2_is_found_under_the_name_that_the_bill_has(sample: Account) -> None:
    answer = query_spend(sample, september(filters=filter_of("service", "ec2")))

    assert [(used.values, used.asked) for used in answer.resolved_filters] == [
        (["Amazon Elastic Compute Cloud"], ["ec2"])
    ]
    assert answer.totals[0].amount == reference_model.sums(FILE, "service")["Amazon Elastic Compute Cloud"][0]


def test_the_number_of_database_queries_is_small_and_fixed(sample: Account) -> None:
    plain_count = _count(sample, SpendQuery())
    grouped = september(
        group_by=["service", "tag:environment"], granularity="day", compare_to="previous_year"
    )
    filtered = september(
        filters=[*filter_of("service", "ec2", "s3", "no such service"), *filter_of("tag:environment", "dev")]
    )

    # One less where another test of the process has read the manifest's files.
    assert plain_count in (1, 2)
    # A tag is looked up among the files' keys, and held against the customer key.
    assert _count(sample, grouped) <= plain_count + 2
    assert _count(sample, filtered) <= plain_count + 4
    assert _count(sample, SpendQuery()) == 1
    assert _count(sample, grouped) <= 4


def _count(account: Account, query: SpendQuery) -> int:
    with CaptureQueriesContext(connection) as queries:
        query_spend(account, query)
    return len(queries)


def test_the_context_takes_at_most_four_database_queries_and_two_when_it_is_repeated(sample: Account) -> None:
    for expected in (4, 2):
        with CaptureQueriesContext(connection) as queries:
            account_context(sample)

        assert len(queries) <= expected


def test_the_context_names_the_currencies_days_and_keys_of_the_file(sample: Account) -> None:
    context = account_context(sample)

    assert context.currencies == ["USD"]
    assert str(context.data_from)[:7] == "2024-09"
    assert {info.key for info in context.tag_keys} <= reference_model.tag_keys(FILE)
    assert all(0 <= (info.coverage or Decimal(0)) <= 1 for info in context.tag_keys)
    assert [source.status for source in context.sources] == ["stale"]


def test_values_page_through_every_service_once(sample: Account) -> None:
    listing: list[str] = []
    cursor = ""
    while not listing or cursor:
        answer = list_dimension_values(sample, "service", limit=10, cursor=cursor)
        listing += [value.value for value in answer.values]
        cursor = answer.cursor

    assert len(listing) == len(set(listing)) == answer.total_values
    assert set(listing) == {name for name in reference_model.sums(FILE, "service") if name is not None}


def test_a_filter_on_an_account_takes_its_name_or_its_id(sample: Account) -> None:
    by_name, by_id = (
        query_spend(sample, september(filters=filter_of("account", value))).totals
        for value in ("atlas nimbus", "51738928782")
    )

    assert by_name == by_id
    assert by_name[0].amount > 0
