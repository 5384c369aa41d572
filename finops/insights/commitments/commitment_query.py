"""What is asked about commitments: the arguments of the tool `getCommitmentUtilization` and the URL of its page."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from msgspec import Meta

from finops.costs.spend_query import MAX_FILTERS, CostFilter, Granularity
from finops.lib.url_query import UrlQuery

By = Literal["commitment", "type", "none"]

OrderBy = Literal["waste", "committed_cost", "utilization", "expiry"]

DEFAULT_TOP = 25
MAX_TOP = 100


# Days are UTC, both ends inside; without any dates, the last 30 days.
class CommitmentQuery(UrlQuery, frozen=True, kw_only=True):
    __doc__ = None
    filters: Annotated[list[CostFilter], Meta(description="As in querySpend.", max_length=MAX_FILTERS)] = []
    start_date: Annotated[date | None, Meta(description="With end_date, inclusive.")] = None
    end_date: date | None = None
    period: Annotated[str | None, Meta(description="Instead of dates, as in querySpend.")] = None
    by: Annotated[By, Meta(description="A row for each.")] = "commitment"
    granularity: Annotated[Granularity, Meta(description="Also totals by bucket.")] = "none"
    type: Annotated[str, Meta(description="Part of a type, such as savings plan.")] = ""
    expires_before: Annotated[date | None, Meta(description="Only those that end before.")] = None
    order_by: Annotated[OrderBy, Meta(description="Of rows.")] = "waste"
    top: Annotated[int, Meta(description="Rows listed.", ge=1, le=MAX_TOP)] = DEFAULT_TOP
