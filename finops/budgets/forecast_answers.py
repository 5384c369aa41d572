"""The answer about a forecast of spend, the same for tool and page.

Docstrings of these types are in the OpenAPI document.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import msgspec

from finops.costs.answers import AppliedCostView, AppliedFilter, AppliedSplit, Change, Series
from finops.lib.answers import AccountAnswer


# How the model did on this very series: totals of `days` days in `trials` forecasts from earlier days, the sizes of the
# errors as a share of the totals; `naive_error_share` is that of repeating the last week.
class BackTest(msgspec.Struct, frozen=True, kw_only=True):
    """error_share: of the totals that earlier forecasts were off; naive_error_share: of repeating the last week."""

    days: int
    trials: int
    error_share: Decimal | None
    naive_error_share: Decimal | None


# One currency of the whole. `actual` + `remaining` = `expected`, which is None with its reason. `change` is of `expected`
# against the whole period before. Series have the first day of each bucket; lower and upper only where days are forecast.
class ForecastTotal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One currency: actual + remaining = expected; the band is lower to upper."""

    currency: str
    actual: Decimal
    remaining: Decimal | None
    expected: Decimal | None
    lower: Decimal | None
    upper: Decimal | None
    reason: str = ""
    change: Change | None = None
    back_test: BackTest | None = None
    series: Series = msgspec.field(default_factory=dict)
    lower_series: Series = msgspec.field(default_factory=dict)
    upper_series: Series = msgspec.field(default_factory=dict)


class ForecastRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One group in one currency, with a model of its own."""

    group: dict[str, str]
    currency: str
    actual: Decimal
    remaining: Decimal | None
    expected: Decimal | None
    lower: Decimal | None
    upper: Decimal | None
    reason: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    other_groups: int = 0
    change: Change | None = None
    back_test: BackTest | None = None


class AppliedForecastPeriod(msgspec.Struct, frozen=True, kw_only=True):
    """Both days inside; actual to as_of."""

    start_date: date
    end_date: date
    days: int
    name: str
    as_of: date


class ForecastAnswer(AccountAnswer, frozen=True, kw_only=True):
    view: AppliedCostView
    period: AppliedForecastPeriod
    group_by: list[str]
    band_share: Decimal
    model: str
    totals: list[ForecastTotal]
    rows: list[ForecastRow]
    resolved_filters: list[AppliedFilter]
    data_through: date | None
    truncated: str
    warnings: list[str]
    hint: str
    applied_splits: list[AppliedSplit]
    console_url: str = ""
