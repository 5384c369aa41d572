"""`manage.py explain_tool`: where a tool's queries of the lake run, and what they read."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from finops.lib import clock
from tests.cast import Cast
from tests.factories.days import NOON
from tests.finops.lake.facts import JANUARY, line, store

pytestmark = pytest.mark.django_db
MONTH = '{"start_date": "2026-01-01", "end_date": "2026-01-31"}'


def explain_output(*arguments: Any, **options: Any) -> str:
    out = io.StringIO()
    with clock.frozen(NOON):
        call_command("explain_tool", *arguments, stdout=out, **options)
    return out.getvalue()


@pytest.fixture(autouse=True)
def kept_bytes(settings: LazySettings) -> None:
    """As they were, after the command has set them."""
    settings.LAKE_ANSWERS_BYTES = 0


def test_each_query_has_its_engine_files_and_bytes(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1, service="EC2")])

    text = explain_output(cast.account.slug, "querySpend", MONTH)

    assert "cost: duckdb, 1 files, " in text
    assert "SELECT" not in text
    assert "SELECT" in explain_output(cast.account.slug, "querySpend", MONTH, sql=True)


def test_queries_kept_on_duckdb_despite_a_cluster_say_why(cast: Cast, settings: LazySettings) -> None:
    store(cast.account, [line(JANUARY, 1, service="EC2")])
    settings.SPARK_REMOTE = "sc://127.0.0.1:1"

    assert "fewer bytes than SPARK_MIN_BYTES" in explain_output(cast.account.slug, "querySpend", MONTH)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("nobody", "querySpend"), "Name an account"),
        (("acme", "create_budget"), "a tool that reads"),
        (("acme", "querySpend", "[]"), "no JSON object"),
        (("acme", "querySpend", "{"), "no JSON"),
        (("acme", "querySpend", '{"period": "x"}'), "period"),
    ],
)
def test_a_change_that_cannot_be_explained_says_why(
    cast: Cast, arguments: tuple[str, ...], text: str
) -> None:
    with pytest.raises(CommandError, match=text):
        explain_output(*arguments)
