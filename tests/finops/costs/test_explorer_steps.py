"""Every link of the cost explorer is a question: drill-downs end, and none doubles a filter."""

from __future__ import annotations

from collections import Counter
from datetime import date
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from finops.costs import explorer_steps
from finops.costs.dimension_names import plain_name
from finops.costs.explorer_steps import LADDER, crumbs, drill_down, url_of
from finops.costs.spend_query import MAX_FILTERS, Filter, SpendQuery

NAMES = [*LADDER, "cloud", "Usage Type", "region", "tag:env", "team", "account", "service_category"]
VALUES = ["a", "b", "(none)"]
FILTERS = st.builds(
    Filter,
    dimension=st.sampled_from(NAMES),
    op=st.sampled_from(["in", "not_in", "contains"]),
    values=st.lists(st.sampled_from(VALUES), min_size=1, max_size=2, unique=True),
)
QUESTIONS = st.builds(
    SpendQuery,
    filters=st.lists(FILTERS, max_size=MAX_FILTERS),
    group_by=st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique_by=plain_name),
    granularity=st.sampled_from(["none", "day", "month"]),
)


def read_again(query: SpendQuery) -> SpendQuery:
    return SpendQuery.from_params(parse_qs(url_of(query).removeprefix("?")))


def row_of(query: SpendQuery, values: list[str]) -> dict[str, str]:
    """A row's group as answers have it: dimensions by their own names."""
    return {plain_name(name): value for name, value in zip(query.group_by, values, strict=False)}


@given(QUESTIONS, st.data())
def test_a_chain_of_drill_downs_ends_and_never_repeats_a_filter(
    query: SpendQuery, data: st.DataObject
) -> None:
    urls = {url_of(query)}
    for _step in range(len(LADDER) + 2):
        if not query.group_by:
            return
        values = data.draw(st.lists(st.sampled_from(VALUES), min_size=2, max_size=2))
        group = row_of(query, values)
        finer = drill_down(query, group)
        if finer is None:
            return
        assert url_of(finer) not in urls
        assert read_again(finer) == finer
        filters_of = Counter(plain_name(item.dimension) for item in finer.filters)
        assert all(filters_of[name] == 1 for name in group)
        assert len(finer.filters) <= MAX_FILTERS
        urls.add(url_of(finer))
        query = finer
    raise AssertionError(f"the walk did not end: {urls}")


@given(QUESTIONS, st.lists(st.sampled_from(VALUES), min_size=2, max_size=2))
def test_a_drill_down_keeps_the_days_and_every_filter_of_other_dimensions(
    query: SpendQuery, values: list[str]
) -> None:
    query = replace(query, start_date=date(2026, 1, 1), end_date=date(2026, 1, 31))
    group = row_of(query, values)
    finer = drill_down(query, group)
    if finer is None:
        return

    assert (finer.start_date, finer.end_date) == (query.start_date, query.end_date)
    other_filters = [item for item in query.filters if plain_name(item.dimension) not in group]
    assert [item for item in finer.filters if plain_name(item.dimension) not in group] == other_filters


@given(QUESTIONS)
def test_the_last_crumb_is_the_question_itself_and_each_before_has_one_filter_less(query: SpendQuery) -> None:
    way = crumbs(query)
    if not way:
        assert not explorer_steps.pinned_values(query)
        return

    assert sorted(map(str, way[-1].query.filters)) == sorted(map(str, query.filters))
    assert way[-1].query.group_by == query.group_by
    counts = [len(crumb.query.filters) for crumb in way]
    assert counts == list(range(counts[0], counts[0] + len(way)))


def test_the_ladder_leads_from_a_provider_to_a_resource() -> None:
    query = SpendQuery(group_by=["provider"], granularity="day")
    groups = []
    while query.group_by:
        groups += query.group_by
        finer = drill_down(query, {query.group_by[0]: "x"})
        assert finer is not None
        query = finer

    assert tuple(groups) == LADDER
    assert explorer_steps.pinned_values(query) == dict.fromkeys(LADDER, "x")


def test_a_row_of_a_tag_leads_to_services() -> None:
    finer = drill_down(SpendQuery(group_by=["tag:env"]), {"tag:env": "prod"})

    assert finer is not None
    assert finer.group_by == ["service"]


def test_a_narrower_value_takes_the_place_of_a_filter_on_the_same_dimension() -> None:
    query = SpendQuery(
        filters=[Filter(dimension="service", values=["a", "b"]), Filter(dimension="region", values=["eu"])],
        group_by=["service"],
    )

    finer = drill_down(query, {"service": "a"})

    assert finer is not None
    assert finer.filters == [
        Filter(dimension="region", values=["eu"]),
        Filter(dimension="service", values=["a"]),
    ]


def test_a_resource_that_is_chosen_has_nothing_finer() -> None:
    query = SpendQuery(filters=[Filter(dimension="resource", values=["vm-1"])], group_by=["resource"])
    finer = drill_down(query, {"resource": "vm-1"})

    assert finer is None


@pytest.mark.parametrize(
    ("granularity", "end", "expected"),
    [("month", "2026-02-28", "day"), ("month", "2026-12-31", "month"), ("week", "2026-01-10", "day")],
)
def test_few_days_are_shown_by_day(granularity: str, end: str, expected: str) -> None:
    query = SpendQuery.from_params({"period": ["last_12_months"], "granularity": [granularity]})

    zoomed = explorer_steps.with_days(query, date(2026, 1, 1), date.fromisoformat(end))

    assert (zoomed.period, zoomed.granularity) == (None, expected)


def test_a_year_is_shown_by_month_and_a_week_by_day() -> None:
    by_day = SpendQuery(period="last_30_days", granularity="day")

    year = explorer_steps.with_period(by_day, "last_12_months")

    assert year.granularity == "month"
    assert explorer_steps.with_period(year, "last_7_days").granularity == "day"


def test_without_a_comparison_rows_are_sorted_by_amount() -> None:
    query = SpendQuery(compare_to="previous_period", order_by="change")

    assert explorer_steps.compared_to(query, "none").order_by == "amount"
