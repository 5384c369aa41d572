"""Small FOCUS files of whole months and single lines."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta

HEADER = (
    "BillingPeriodStart,ChargePeriodStart,ProviderName,ServiceName,ChargeCategory,ChargeClass,BillingCurrency,"
    "BilledCost,EffectiveCost,SubAccountId,ResourceId"
)


def line(
    month: str,
    day: int,
    cost: str,
    *,
    provider: str = "AWS",
    service: str = "S3",
    charge_class: str = "",
    currency: str = "USD",
    account: str = "",
    resource: str = "",
    charged: str = "",
) -> str:
    when = charged or f"{month}-{day:02d}"
    category = "Adjustment" if charge_class else "Usage"
    return (
        f"{month}-01T00:00:00Z,{when}T00:00:00Z,{provider},{service},{category},{charge_class},{currency},"
        f"{cost},{cost},{account},{resource}"
    )


def month_of(month: str, cost: str = "15", days: int = 0, **values: str) -> list[str]:
    """Return a line with this cost for each of the first `days` days of the month; 0 for all days."""
    first = date.fromisoformat(f"{month}-01")
    days = days or ((first + timedelta(days=32)).replace(day=1) - first).days
    return [line(month, day + 1, cost, **values) for day in range(days)]


def bill(*lines: str | Iterable[str]) -> str:
    rows = [each for some in lines for each in ([some] if isinstance(some, str) else some)]
    return "\n".join([HEADER, *rows]) + "\n"
