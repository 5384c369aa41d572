"""Databases that are read with a person's own query: common parts of their connectors and sources."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Annotated, Final, Literal

import msgspec

from finops.connections.transports.sql import FocusRelation, QueryResult, SqlSource, TextRow

FOCUS_QUERY: Final = """\
SELECT billed AS "BilledCost", amortized AS "EffectiveCost", currency AS "BillingCurrency",
       month_start AS "BillingPeriodStart", "day" AS "ChargePeriodStart", 'Usage' AS "ChargeCategory",
       'Data centre' AS "ProviderName", service AS "ServiceName"
FROM billing.focus_costs"""
"""An example with the required columns."""

FocusQuery = Annotated[
    str,
    msgspec.Meta(
        title="Query",
        description="A SELECT with FOCUS column names. Recommended: SELECT * from a view.",
        examples=["SELECT * FROM billing.focus_costs"],
        min_length=8,
        max_length=20_000,
    ),
]
TlsCheck = Annotated[
    Literal["verify-full", "require"],
    msgspec.Meta(
        title="TLS",
        description="verify-full checks the server's certificate; require encrypts without the check.",
    ),
]


class DatabaseSource(SqlSource):
    """A database whose rows are read in batches, with one connection for each statement, which is closed after the last row."""

    vendor = "The database"
    field = "query"

    def query(self, statement: str) -> QueryResult:
        batches = self.batches(statement)
        names, types = next(batches)
        return QueryResult([name or "" for name in names], batches, types=[each or "" for each in types])

    @abstractmethod
    def batches(self, statement: str) -> Iterator[list[TextRow]]:
        """Yield the names and types of the columns as two rows, then the rows. Raises the errors of `query`."""


def query_relation(source: SqlSource, query: str) -> FocusRelation:
    """Return the relation of a person's query. Raises the errors of FocusRelation."""
    return FocusRelation(source, f"(\n{query.strip().rstrip(';')}\n) AS focus_lines")
