"""What is asked about the cost of a cost tag: the arguments of the tool `queryCostTag`."""

from __future__ import annotations

from datetime import date
from typing import Annotated

import msgspec
from msgspec import Meta

from finops.costs.spend_query import BasisName, Period, Splits

MAX_TOP = 50


# Days are UTC, both ends inside; without any dates, the last 30 days.
class CostTagQuery(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    cost_tag: Annotated[str, Meta(description="Its key; left out: the first of listCostTags.")] = ""
    by: Annotated[str, Meta(description="Also by this dimension: account, team, product, service …")] = ""
    values: Annotated[
        list[str], Meta(description="Only these values of the cost tag.", max_length=MAX_TOP)
    ] = []
    start_date: Annotated[date | None, Meta(description="With end_date, inclusive.")] = None
    end_date: Annotated[date | None, Meta(description="Last day.")] = None
    period: Annotated[Period | None, Meta(description="Instead of dates.")] = None
    basis: Annotated[BasisName | None, Meta(description="Left out: the cost view's.")] = None
    splits: Annotated[Splits, Meta(description="For rows; values have both.")] = "before"
    top: Annotated[int, Meta(description="Values, and rows, a currency.", ge=1, le=MAX_TOP)] = 20
