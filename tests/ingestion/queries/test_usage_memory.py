"""The memory of a usage query: groups and days, and never the events."""

from __future__ import annotations

from datetime import date

import pytest

from finops.lake.engine import compiler
from finops.lake.engine.compiler import File
from finops.lake.schema import Kind
from ingestion.queries.usage_lake import AVERAGE, LAST, MAX, SUM, UsageBuild, UsagePlan

NOVEMBER = date(2026, 11, 1), date(2026, 11, 30)


@pytest.mark.parametrize("aggregation", [SUM, AVERAGE, LAST, MAX])
@pytest.mark.parametrize("by", ["", "customer", "dimension:region"])
def test_events_are_named_once_and_so_read_without_being_held(aggregation: str, by: str) -> None:
    for plan in (
        UsagePlan("requests", aggregation, "none", by),
        UsagePlan("requests", aggregation, "day", by, ("cust-1",), (("plan", ("pro",)),), 10),
    ):
        query = compiler.compile_query(Kind.USAGE, UsageBuild(plan), plan.dimension_keys)
        text = query.sql([File("a.parquet", frozenset(query.needed))], *NOVEMBER)
        assert text.count('FROM "usage"') == 1
