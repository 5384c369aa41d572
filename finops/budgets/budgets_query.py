"""What is asked about budgets: the arguments of the tool `listBudgets`, and the URL of the Budgets page."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

StatusName = Literal["ok", "warning", "exceeded"]
ScopeName = Literal["account", "cost_source", "team", "cost_tag"]


class BudgetsQuery(msgspec.Struct, frozen=True, kw_only=True):
    status: Annotated[list[StatusName], Meta(description="Left out: all.")] = []
    scope: Annotated[list[ScopeName], Meta(description="Left out: all.")] = []
    limit: Annotated[int, Meta(ge=1, le=50)] = 50
    cursor: Annotated[str, Meta(description="From the answer before.")] = ""
