"""What is asked about the cost of a cost tag: the arguments of the tool `queryCostTag`."""

from __future__ import annotations

from datetime import date
from typing import Annotated

import msgspec
from msgspec import Meta

from finops.costs.spend_query import BasisName, Splits

MAX_TOP = 50


# Lean on purpose: these go to every assistant. Days are UTC, both ends inside; without any dates, the last 30 days.
class CostTagQuery(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    cost_tag: Annotated[str, Meta(description="Key; left out: the first.")] = ""
    by: Annotated[str, Meta(description="Also by account, team, product …")] = ""
    values: Annotated[list[str], Meta(description="Only these.", max_length=MAX_TOP)] = []
    start_date: Annotated[date | None, Meta(description="With end_date.")] = None
    end_date: Annotated[date | None, Meta(description="Inclusive.")] = None
    period: Annotated[str | None, Meta(description="As in querySpend.")] = None
    basis: Annotated[BasisName | None, Meta(description="As in querySpend.")] = None
    splits: Annotated[Splits, Meta(description="Of rows; values have both.")] = "before"
    top: Annotated[int, Meta(ge=1, le=MAX_TOP)] = 20
