"""Any bill within any limit: every tool and page answers as for the bill of the lines within."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from accounts.scoping import account_scope
from finops.budgets.models import Budget
from finops.change_events.models import ChangeEvent, EventSource
from finops.change_events.queries import visible_events
from finops.cost_access import reach
from finops.cost_access.models import CostAccessLimit
from finops.cost_access.resolution import resolve_limits
from finops.costs.models import CostSource
from finops.costs.spend_query import CostFilter
from finops.exchange_rates.display import account_currencies
from finops.lake.schema import Kind, tag_column
from finops.lake.storage import segments
from finops.lib.cost_access import cost_access
from mcpserver.registry import registry
from tests.cast import signed_in
from tests.examples import examples
from tests.factories.cost_access import LAST, Pair
from tests.factories.costs import Line, add_source, cost
from tests.finops.cost_access.comparison import answer_text, assert_same_text, own_rows, page_text, plain
from tests.finops.cost_access.questions import PAGES, QUESTIONS
from tests.isolation.discovery import account_routes, fill

SOURCES = ("Bill", "Invoices")
ASKED, SHOWN = 8, 4
"""Tools and pages of an example: each comes several times in a run."""

TOOLS = [tool for tool in registry if tool.name in reach.TOOLS]
ROUTES = [route for route in account_routes() if route.name in reach.PAGES]

tags = st.fixed_dictionaries(
    {}, optional={"team": st.sampled_from(["core", "Core", "x"]), "env": st.sampled_from(["prod", "dev"])}
)
columns = st.fixed_dictionaries(
    {
        "account_id": st.sampled_from(["1", "2"]),
        "currency": st.sampled_from(["USD", "USD", "EUR"]),
        "charge_category": st.sampled_from(["Usage", "Usage", "Usage", "Credit", "Tax", "Purchase"]),
        "tags": tags,
    },
    optional={
        "service": st.sampled_from(["Compute", "compute", "Storage", "AI"]),
        "region": st.sampled_from(["eu-1", "us-1"]),
        "resource_id": st.sampled_from(["i-1", "i-2"]),
        "provider": st.sampled_from(["AWS", "OpenAI"]),
        "commitment_id": st.just("sp-1"),
        "commitment_status": st.sampled_from(["Used", "Unused"]),
    },
)
lines = st.builds(
    lambda back, amount, more: cost(LAST - timedelta(days=back), amount, **more),
    st.integers(0, 75),
    st.integers(-3, 40),
    columns,
)
bills = st.tuples(st.lists(lines, max_size=12), st.lists(lines, max_size=12))

CHOICES = {
    "service": ["Compute", "STORAGE", "(none)"],
    "region": ["eu-1"],
    "account": ["1"],
    "tag:team": ["core"],
    "tag:env": ["prod"],
    "team": ["Core"],
    "cost_tag:env": ["dev"],
    "source": ["Bill"],
    "currency": ["USD"],
}
filters = st.sampled_from(sorted(CHOICES)).flatmap(
    lambda name: st.builds(
        CostFilter,
        dimension=st.just(name),
        op=st.sampled_from(["in", "in", "not_in"]),
        values=st.lists(st.sampled_from(CHOICES[name]), min_size=1, max_size=2, unique=True),
    )
)
limits = st.lists(st.lists(filters, min_size=1, max_size=2), min_size=1, max_size=2)
COLUMN = {"account": "account_id", "tag:team": tag_column("team"), "tag:env": tag_column("env")}


def value_of(line: Line, source: str, dimension: str) -> str | None:
    """What a line has in a dimension, in lower case: by the settings of tests/factories/cost_access_settings.py."""
    if dimension == "source":
        return source.lower()
    if dimension == "team":
        return "core" if (line.get(tag_column("team")) or "").lower() == "core" else "(no team)"
    column = tag_column("env") if dimension == "cost_tag:env" else COLUMN.get(dimension, dimension)
    value = line.get(column)
    return str(value).lower() if value is not None else None


def passes(line: Line, source: str, alternatives: Iterable[Iterable[CostFilter]]) -> bool:
    return any(all(_passes(line, source, item) for item in group) for group in alternatives)


def _passes(line: Line, source: str, item: CostFilter) -> bool:
    value = value_of(line, source, item.dimension)
    is_in = ("(none)" if value is None else value) in {each.lower() for each in item.values}
    return is_in == (item.op == "in")


@contextmanager
def stored(
    pair: Pair, bill: Sequence[Sequence[Line]], alternatives: Sequence[Sequence[CostFilter]]
) -> Iterator[None]:
    """Both accounts with these lines and this limit, as long as the block runs."""
    within = [
        [line for line in of_source if passes(line, name, alternatives)]
        for name, of_source in zip(SOURCES, bill, strict=True)
    ]
    with transaction.atomic():
        _store(pair.whole, bill)
        _store(pair.inside, within)
        with account_scope(pair.whole):
            rows = CostAccessLimit.objects.filter(pk=pair.limit.pk)
            rows.update(alternatives=msgspec.to_builtins(alternatives))
            limit = resolve_limits(pair.whole, list(rows))
        if limit is None or ("team", "core") not in limit.whole_values:
            with account_scope(pair.inside):
                Budget.objects.all().delete()
        _store_events_within(pair, alternatives)
        yield
        transaction.set_rollback(True)


def whole_values(alternatives: Iterable[Sequence[CostFilter]]) -> set[tuple[str, str]]:
    return {
        (filters[0].dimension, value.lower())
        for filters in alternatives
        if len(filters) == 1 and filters[0].op == "in"
        for value in filters[0].values
    }


def _store_events_within(pair: Pair, alternatives: Iterable[Sequence[CostFilter]]) -> None:
    """Those of the whole account of which each line is within the limit, and no others."""
    whole = whole_values(alternatives)
    with account_scope(pair.whole):
        events = [
            (event.source.name if event.source else "", event)
            for event in ChangeEvent.objects.select_related("source").order_by("id")
            if any(
                values and all((name, value.lower()) in whole for value in values)
                for name, values in event.scope.items()
            )
        ]
    with account_scope(pair.inside):
        EventSource.objects.all().delete()
        ChangeEvent.objects.all().delete()
        for source, event in events:
            row = EventSource.objects.get_or_create(account=pair.inside, name=source)[0] if source else None
            event.pk, event.account, event.source = None, pair.inside, row
            event.save(force_insert=True)


def _store(account: Account, bill: Sequence[Sequence[Line]]) -> None:
    """Sources without a line are not there, but the one that limits are of."""
    with account_scope(account):
        for source in CostSource.objects.all():
            segments.retire_source(account=account, kind=Kind.COST, source_id=source.pk)
            source.delete()
        for name, of_source in zip(SOURCES, bill, strict=True):
            if of_source:
                add_source(account, of_source, name=name)
        # As an import leaves it.
        Account.objects.filter(pk=account.pk).update(currencies=account_currencies(account))


@pytest.mark.slow
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=examples(40),
    deadline=None,
)
@given(bill=bills, alternatives=limits, data=st.data())
def test_any_bill_within_any_limit_answers_as_the_bill_of_those_lines(
    pair: Pair, bill: Any, alternatives: list[list[CostFilter]], data: st.DataObject
) -> None:
    if not bill[0]:
        bill = ([cost(date(2026, 3, 1), 1, service="AI", account_id="2", currency="USD")], bill[1])
    tools = data.draw(st.permutations(TOOLS))
    questions = [
        (tool, data.draw(st.sampled_from([{}, *tool.examples, *QUESTIONS[tool.name]])))
        for tool in tools[:ASKED]
    ]
    pages = data.draw(st.permutations(ROUTES))[:SHOWN]
    queries = [data.draw(st.sampled_from(PAGES[route.name])) for route in pages]
    with stored(pair, bill, alternatives):
        for tool, arguments in questions:
            limited, expected = (
                answer_text(key, tool, dict(arguments)) for key in (pair.limited_key, pair.inside_key)
            )
            assert_same_text(plain(limited, pair), plain(expected, pair))
        client = signed_in(pair.reader)
        for route, query in zip(pages, queries, strict=True):
            limited, expected = (
                _page(client, fill(route, account.slug, _values(account, route.arguments)) + query, pair)
                for account in (pair.whole, pair.inside)
            )
            assert_same_text(limited, expected)


scopes = st.dictionaries(
    st.sampled_from(sorted(CHOICES)),
    st.lists(st.sampled_from([*SOURCES, "Core", "core", "compute", "1", "prod", "dev", "USD"]), max_size=2),
    max_size=2,
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60), deadline=None
)
@given(alternatives=limits, scope=scopes, of_source=st.lists(lines, min_size=1, max_size=20))
def test_no_line_of_the_scope_of_a_visible_event_is_beyond_the_limit(
    pair: Pair,
    alternatives: list[list[CostFilter]],
    scope: dict[str, list[str]],
    of_source: list[Line],
) -> None:
    """Whatever lines there are: the event is decided by its scope."""
    with transaction.atomic():
        with account_scope(pair.whole):
            event = ChangeEvent.objects.create(
                account=pair.whole,
                origin="note",
                kind="note",
                title="x",
                scope=scope,
                occurred_at=datetime(2026, 3, 1, tzinfo=UTC),
            )
            rows = CostAccessLimit.objects.filter(pk=pair.limit.pk)
            rows.update(alternatives=msgspec.to_builtins(alternatives))
            with cost_access(resolve_limits(pair.whole, list(rows))):
                is_visible = visible_events().filter(pk=event.pk).exists()
        transaction.set_rollback(True)
    assert scope or not is_visible
    named = [[CostFilter(dimension=name, values=values) for name, values in scope.items()]]
    for source in SOURCES if is_visible else ():
        for line in of_source:
            assert passes(line, source, alternatives) or not passes(line, source, named)


def _values(account: Account, names: Sequence[str]) -> dict[str, object]:
    return own_rows(account) if len(names) > 1 else {}


def _page(client: Any, url: str, pair: Pair) -> str:
    answer = client.get(url)
    return f"{answer.status_code} {page_text(answer, pair)}"
