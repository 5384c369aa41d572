"""Steps that the tests of vendors' connectors share."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from accounts.models import Account
from finops.connections import services
from finops.connections.connector import BillMonth, Connector, Fetch
from finops.connections.models import CostConnection
from finops.costs.queries.spend import query_spend
from finops.costs.spend_query import SpendQuery
from tests.cast import Cast

DATA: Final = Path(__file__).parents[3] / "data" / "vendor-apis"

Amounts = dict[str | None, Decimal]


def recorded_json(name: str) -> Any:
    """A recorded file with its numbers as the decimals that are written there."""
    return json.loads((DATA / name).read_text(), parse_float=Decimal)


def sums_by_key(rows: Iterable[tuple[str | None, Decimal]]) -> Amounts:
    """Sums by key, added up here and nowhere else."""
    sums: Amounts = {}
    for key, amount in rows:
        sums[key] = sums.get(key, Decimal(0)) + amount
    return sums


def lake_amount(amount: Decimal) -> Decimal:
    """As the lake keeps an amount: with 18 decimals."""
    return amount.quantize(Decimal("1e-18"), ROUND_HALF_EVEN)


def fetch_rows(
    connector: Connector[Any], config: Any, month: date, folder: Path
) -> list[dict[str, str | None]]:
    """The rows that a fetch of the month writes."""
    (bill_month,) = [each for each in connector.months(config) if each.month == month]
    return rows_of(connector, config, bill_month, folder)


def rows_of(
    connector: Connector[Any], config: Any, month: BillMonth, folder: Path
) -> list[dict[str, str | None]]:
    """Each with all columns, those that were left out too."""
    files = connector.fetch(config, month, Fetch(folder))
    rows = [row for file in files for row in pq.read_table(file.path).to_pylist()]
    return [defaultdict(lambda: None, row) for row in rows]


def billed_by(rows: Iterable[Mapping[str, str | None]], column: str) -> Amounts:
    return sums_by_key((row[column], Decimal(row["BilledCost"] or "")) for row in rows)


def connect(cast: Cast, connector: str, **values: object) -> CostConnection:
    """A connection of Acme; its first sync waits."""
    return services.create_connection(
        account=cast.account, actor=cast.actor, name="AI", connector=connector, values=values
    )


def spend_by(account: Account, dimension: str, start: date, end: date, **more: Any) -> dict[str, Decimal]:
    """What a question about spend answers, by value."""
    query = SpendQuery(group_by=[dimension], start_date=start, end_date=end, basis="billed", limit=50, **more)
    return {row.group[dimension]: row.amount for row in query_spend(account, query).rows}
