"""The URL of the cost explorer and the arguments of querySpend are one question."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from typing import get_args
from urllib.parse import parse_qs, urlencode

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.costs.spend_query import Filter, Measure, Period, SpendQuery
from finops.lib.errors import UserError
from finops.lib.periods import PERIODS

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)
filters = st.builds(
    Filter,
    dimension=texts,
    op=st.sampled_from(["in", "not_in", "contains", "not_contains", "starts_with", "ends_with", "absent"]),
    values=st.lists(texts, max_size=4),
)
questions = st.builds(
    SpendQuery,
    start_date=st.none() | st.dates(),
    end_date=st.none() | st.dates(),
    period=st.none() | st.sampled_from(PERIODS),
    granularity=st.sampled_from(["none", "day", "week", "month"]),
    group_by=st.lists(texts, max_size=2),
    filters=st.lists(filters, max_size=12),
    basis=st.sampled_from([None, "billed", "amortized"]),
    charge_categories=st.lists(texts, max_size=3),
    limit=st.integers(1, 50),
    compare_to=st.sampled_from(["none", "previous_period", "previous_year"]),
    measure=st.sampled_from(get_args(Measure)),
)


@settings(deadline=None)
@given(questions)
def test_a_question_is_unchanged_after_encoding_in_a_url(query: SpendQuery) -> None:
    url = urlencode(query.to_params(), doseq=True)

    assert SpendQuery.from_params(parse_qs(url, keep_blank_values=True)) == query


@settings(deadline=None)
@given(questions)
def test_a_question_is_unchanged_after_encoding_as_json(query: SpendQuery) -> None:
    assert msgspec.json.decode(msgspec.json.encode(query), type=SpendQuery) == query


names = st.sampled_from([*SpendQuery.__struct_fields__, "f0", "f0op", "f0v", "f1", "f12v", "f", "x"])
any_texts = st.text(max_size=8) | st.sampled_from(
    ["1", "-1", "1e400", "9" * 30, "2026-02-30", "null", "true", "[]"]
)


@settings(deadline=None)
@given(st.dictionaries(names, st.lists(any_texts, max_size=3)))
def test_any_url_is_a_question_or_an_error_to_show(params: dict[str, list[str]]) -> None:
    with suppress(UserError):
        query = SpendQuery.from_params(params)
        assert SpendQuery.from_params(query.to_params()) == query


def test_the_url_of_a_plain_question_is_empty() -> None:
    assert SpendQuery().to_params() == {}
    assert SpendQuery.from_params({}) == SpendQuery()


def test_empty_fields_of_a_form_are_left_out() -> None:
    params = {
        "period": [""],
        "group_by": ["", "service"],
        "f0": [""],
        "f0op": ["in"],
        "csrf": ["x"],
        "limit": [""],
    }

    assert SpendQuery.from_params(params) == SpendQuery(group_by=["service"])


def test_filters_keep_the_order_of_their_numbers() -> None:
    params = {"f10": ["region"], "f10v": ["eu"], "f2": ["service"], "f2op": ["absent"]}

    assert SpendQuery.from_params(params).filters == [
        Filter(dimension="service", op="absent"),
        Filter(dimension="region", values=["eu"]),
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("period", "last_fortnight"),
        ("limit", "0"),
        ("limit", "x"),
        ("start_date", "soon"),
        ("granularity", "hour"),
    ],
)
def test_a_bad_parameter_is_named(name: str, value: str) -> None:
    with pytest.raises(UserError) as error:
        SpendQuery.from_params({name: [value]})

    assert error.value.field == name
    assert error.value.message.startswith(f"{name}: ")


def test_a_third_group_is_refused() -> None:
    with pytest.raises(UserError, match="group_by"):
        SpendQuery.from_params({"group_by": ["a", "b", "c"]})


def test_every_named_period_can_be_requested() -> None:
    assert set(Period.__args__) == set(PERIODS)  # type: ignore[attr-defined]


def test_dates_are_days() -> None:
    query = SpendQuery.from_params({"start_date": ["2026-03-01"], "end_date": ["2026-03-31"]})

    assert (query.start_date, query.end_date) == (date(2026, 3, 1), date(2026, 3, 31))
