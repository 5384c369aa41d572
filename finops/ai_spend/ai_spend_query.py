"""The question about AI spend: the URL of its page and the settings of its widget."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Final, Literal

from msgspec import Meta

from finops.costs.spend_query import (
    MAX_FILTERS,
    BasisName,
    CompareTo,
    Filter,
    SpendQuery,
)
from finops.lib.periods import Period
from finops.lib.url_query import UrlQuery

AiSpendGroup = Literal[
    "model_and_token_type", "model", "token_type", "vendor", "person", "key", "feature", "customer", "team"
]
MODEL_AND_TOKEN_TYPE: Final = "model_and_token_type"  # noqa: S105 - a group
Bucket = Literal["day", "week", "month"]

DEFAULT_TOP: Final = 25
MAX_TOP: Final = 200


class AiSpendQuery(UrlQuery, frozen=True, kw_only=True):
    """A question about AI spend. Days are UTC and inclusive; the default is the last 30 days.

    `token_metric`, `session_metric`, `seat_metric`: usage metrics; if empty, the metrics that count them by their
    names.
    """

    filters: Annotated[list[Filter], Meta(max_length=MAX_FILTERS)] = []
    start_date: date | None = None
    end_date: date | None = None
    period: Period | None = None
    granularity: Bucket = "day"
    group_by: AiSpendGroup = MODEL_AND_TOKEN_TYPE
    basis: BasisName | None = None
    charge_categories: list[str] = []
    compare_to: CompareTo = "previous_period"
    token_metric: str = ""
    session_metric: str = ""
    seat_metric: str = ""
    limit: Annotated[int, Meta(ge=1)] = DEFAULT_TOP

    def spend_query(self) -> SpendQuery:
        """The underlying question about cost, before lines and groups are chosen.

        An estimate is the tokens of usage events times the price of their day. Tokens without a price have no
        estimate and are named.
        """
        return SpendQuery(
            filters=list(self.filters),
            start_date=self.start_date,
            end_date=self.end_date,
            period=self.period,
            basis=self.basis,
            charge_categories=list(self.charge_categories),
            compare_to=self.compare_to,
        )
