"""The filters of a question as a condition of PostgreSQL: the events that Python's rule lets pass, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from accounts.scoping import account_scope
from finops.change_events.models import ChangeEvent
from finops.change_events.queries import events_that_fit
from finops.change_events.queries.scope_conditions import _FOLDED_RANGE, filter_by_scope
from finops.change_events.scopes import fits, scope_filters_of
from finops.costs.spend_query import CostFilter
from tests.cast import Cast
from tests.examples import examples

START = datetime(2026, 3, 3, 9, tzinfo=UTC)
OPS = ["in", "not_in", "contains", "not_contains", "starts_with", "ends_with", "absent"]
dimensions = st.sampled_from(["service", "provider", "region", "tag:Team", "tag:ß"])
texts = st.text(max_size=6).filter(lambda text: "\0" not in text) | st.sampled_from(
    ["EC2", "ec2 ", "Amazon EC2", "amazonec2", "AWS", "Straße", "STRASSE", "ss", "\u017f", "\u212a", "k", "İ", "i\u0307", "ΣΑΣ", "σας",
     "Zürich", "ZÜRICH", "платежи", "ПЛАТЕЖИ", "支払い", "100%", "a_b", "a\\b", "\u2003ec2\u2003", "ﬁ", "fi", "i", "F"]
)  # fmt: skip
scopes = st.dictionaries(dimensions, st.lists(texts, max_size=3), max_size=3)
any_filters = st.lists(
    st.builds(
        CostFilter,
        dimension=dimensions | st.sampled_from(["tag:\0"]),
        op=st.sampled_from(OPS),
        values=st.lists(texts | st.sampled_from(["\0", "\ud800", "\udfff"]), max_size=3),
    ),
    max_size=3,
)


def store(account: Account, scopes: Sequence[dict[str, Any]]) -> None:
    """Events with these scopes, the first at last."""
    ChangeEvent.objects.bulk_create(
        ChangeEvent(
            account=account,
            origin="note",
            kind="note",
            title=f"{place}",
            occurred_at=START - timedelta(minutes=place),
            scope=scope,
        )
        for place, scope in enumerate(scopes)
    )


@settings(max_examples=examples(500), suppress_health_check=list(HealthCheck))
@given(stored=st.lists(scopes, min_size=1, max_size=4), filters=any_filters)
def test_the_database_and_python_agree_which_events_fit(
    acme: Account, stored: list[dict[str, list[str]]], filters: list[CostFilter]
) -> None:
    ChangeEvent.objects.all().delete()
    store(acme, stored)
    event_scope = scope_filters_of(filters)

    matches = events_that_fit(ChangeEvent.objects.all(), event_scope, 10)

    assert [each.title for each in matches] == [
        str(place) for place, scope in enumerate(stored) if fits(scope, event_scope)
    ]


@pytest.mark.parametrize("value", ["Zürich", "ПЛАТЕЖИ", "支払い", "Team \u212a"])
def test_the_database_alone_decides_on_nearly_all_values(acme: Account, value: str) -> None:
    store(acme, [{"tag:team": [value.swapcase()]}, {"tag:team": [f"{value}2"]}, {"region": ["x"]}])

    rows = filter_by_scope(
        ChangeEvent.objects.all(), scope_filters_of([CostFilter(dimension="tag:team", values=[value])])
    )

    assert [each.title for each in rows] == ["0", "2"]


def test_characters_above_the_table_fold_to_themselves() -> None:
    assert all(char.casefold() == char for char in map(chr, range(_FOLDED_RANGE, 0x110000)))


def test_a_folded_character_folds_to_itself() -> None:
    assert all(char.casefold().casefold() == char.casefold() for char in map(chr, range(_FOLDED_RANGE)))


def test_events_that_fit_are_read_beyond_a_page_of_those_that_do_not(acme: Account) -> None:
    """ß folds to two characters, so the database keeps all of these."""
    store(
        acme, [*[{"tag:team": ["ßt"]}] * 5, {"tag:team": ["sst"]}, {"tag:team": ["st"]}, {"tag:team": ["ST"]}]
    )
    scope = scope_filters_of([CostFilter(dimension="tag:team", values=["st"])])

    assert [each.title for each in events_that_fit(ChangeEvent.objects.all(), scope, 2)] == ["6", "7"]


def test_a_scope_in_another_form_is_decided_by_python(cast: Cast) -> None:
    with account_scope(cast.account):
        store(cast.account, [{"service": "x"}, {"service": []}])
        scope = scope_filters_of([CostFilter(dimension="service", values=["x"])])

        assert len(events_that_fit(ChangeEvent.objects.all(), scope, 5)) == 2
