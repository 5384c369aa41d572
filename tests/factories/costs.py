"""Cost lines for tests, and their sums, computed in plain Python. Shares no code with the queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal, localcontext
from typing import Any

from accounts.models import Account
from finops.costs.models import CostSource
from finops.lake import schema
from tests.finops.lake.facts import line, store

Line = dict[str, Any]
COLUMN = {"account": "account_id", "sku": "sku_id", "resource": "resource_id", "commitment": "commitment_id"}


def cost(day: date, amount: str | Decimal | int, /, **columns: Any) -> Line:
    """Return a plain usage line in USD; other columns by name."""
    return line(day, amount, **{"charge_category": "Usage", "charge_frequency": "Usage-Based", **columns})


def add_source(account: Account, lines: Sequence[Line], *, name: str = "Bill") -> CostSource:
    """Create a cost source with these lines. The account must be in scope."""
    source = CostSource.objects.create(account=account, name=name)
    store_lines(account, source, lines)
    return source


def store_lines(account: Account, source: CostSource, lines: Sequence[Line]) -> None:
    """Replace the contents of the lines' months by these lines."""
    months: dict[date, list[Line]] = defaultdict(list)
    for item in lines:
        months[item["charge_date"].replace(day=1)].append({**item, "source": str(source.pk)})
    for month, lines_of_month in months.items():
        store(account, lines_of_month, source_id=source.pk, month=month)


def key_of(item: Mapping[str, Any], dimension: str) -> str:
    """Return the displayed value of a line in a dimension."""
    if dimension.startswith("tag:"):
        value = item.get(schema.tag_column(dimension.removeprefix("tag:")))
        return value if value is not None else "(untagged)"
    absent = "(unknown)" if dimension == "actor" else "(none)"
    value = item.get(COLUMN.get(dimension, dimension))
    return value if value is not None else absent


def add_up(
    lines: Iterable[Mapping[str, Any]],
    keys: Callable[[Mapping[str, Any]], Any],
    *,
    column: str = "billed_cost",
) -> dict[Any, Decimal]:
    """Return the exact sum of a column by the result of `keys`."""
    sums: dict[Any, Decimal] = defaultdict(Decimal)
    with localcontext(prec=70):
        for item in lines:
            sums[keys(item)] += item[column]
    return dict(sums)
