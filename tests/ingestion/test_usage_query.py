from __future__ import annotations

from datetime import date
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.lib.errors import UserError
from finops.lib.periods import Granularity, Period
from ingestion.usage_query import UsageFilter, UsageQuery
from tests.examples import examples

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
values = st.lists(texts, min_size=1, max_size=3)
filters = st.builds(UsageFilter, dimension=texts.filter(lambda name: name != "customer"), values=values)
queries = st.builds(
    UsageQuery,
    usage_metric=texts | st.just(""),
    start_date=st.none() | st.dates(date(2000, 1, 1), date(2100, 12, 31)),
    end_date=st.none() | st.dates(date(2000, 1, 1), date(2100, 12, 31)),
    period=st.none() | st.sampled_from(get_args(Period)),
    granularity=st.sampled_from(get_args(Granularity)),
    group_by=st.lists(texts, max_size=1),
    customers=st.lists(texts, max_size=3, unique=True),
    filters=st.lists(filters, max_size=3),
    limit=st.integers(1, 50),
)


@settings(max_examples=examples(300), deadline=None)
@given(query=queries)
def test_a_url_says_the_whole_query(query: UsageQuery) -> None:
    assert UsageQuery.from_params(query.to_params()) == query


def test_a_plain_question_has_a_plain_url() -> None:
    assert UsageQuery().to_params() == {}
    assert UsageQuery(usage_metric="seats", period="last_month").to_params() == {
        "usage_metric": ["seats"],
        "period": ["last_month"],
    }


def test_a_filter_on_the_customer_is_the_customers_asked_for() -> None:
    params = {
        "f0": ["customer"],
        "f0v": ["a", "b"],
        "f2": ["region"],
        "f2v": ["eu"],
        "f3": ["plan"],
        "f3v": [""],
    }
    query = UsageQuery.from_params({**params, "customers": ["b", "c"], "else": ["x"], "limit": [""]})
    assert query == UsageQuery(
        customers=["b", "c", "a"], filters=[UsageFilter(dimension="region", values=["eu"])]
    )


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"limit": ["51"]}, "limit: Expected `int` <= 50"),
        ({"period": ["soon"]}, "period: 'soon' does not exist. Valid: "),
        ({"start_date": ["yesterday"]}, "start_date: Invalid RFC3339"),
        ({"customers": ["x"] * 101}, None),
        (
            {"customers": [str(number) for number in range(101)]},
            "customers: Expected `array` of length <= 100",
        ),
    ],
    ids=["top", "period", "date", "repeated", "many"],
)
def test_a_parameter_that_cannot_be_read_is_named(params: dict[str, list[str]], message: str | None) -> None:
    if message is None:
        assert UsageQuery.from_params(params).customers == ["x"]
        return
    with pytest.raises(UserError) as error:
        UsageQuery.from_params(params)
    assert error.value.message.startswith(message)
