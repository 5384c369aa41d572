"""Accounts whose bills are really imported, as of a day. Shares no code with the queries."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs import services
from finops.costs.models import CostSource
from tests.cast import Cast
from tests.factories.days import at, days

Amount = Decimal | int | str
Line = dict[str, str]

COLUMNS = (
    *("BillingPeriodStart", "ChargePeriodStart", "ChargePeriodEnd", "ProviderName", "ServiceName"),
    *("ChargeCategory", "ChargeFrequency", "BillingCurrency", "BilledCost", "EffectiveCost"),
)


def line(
    day: date, amount: Amount, service: str = "Compute", *, until: date | None = None, **columns: str
) -> Line:
    """Return a line for the usage of a day; `until` is the last day of a longer charge period."""
    end = (until or day) + timedelta(days=1)
    defaults = {
        "BillingPeriodStart": f"{day:%Y-%m}-01T00:00:00Z",
        "ChargePeriodStart": f"{day}T00:00:00Z",
        "ChargePeriodEnd": f"{end}T00:00:00Z",
        "ProviderName": "AWS",
        "ServiceName": service,
        "ChargeCategory": "Usage",
        "ChargeFrequency": "Usage-Based",
        "BillingCurrency": "USD",
        "BilledCost": str(amount),
        "EffectiveCost": str(amount),
    }
    return {**defaults, **columns}


def usage(
    services_: Mapping[str, Callable[[date], Amount]], first: date, last: date, **columns: str
) -> list[Line]:
    """Return a line for each day and service."""
    return [
        {**line(day, amount, name), **columns}
        for day in days(first, last)
        for name, of_day in services_.items()
        if Decimal(amount := of_day(day))
    ]


class Bills:
    """The sources of one account, filled by imports."""

    def __init__(self, cast: Cast, folder: Path) -> None:
        self.cast, self.folder, self.files = cast, folder, 0

    @property
    def account(self) -> Account:
        return self.cast.account

    def source(self, name: str, settle_days: int | None = None) -> CostSource:
        with account_scope(self.account):
            existing = CostSource.objects.filter(name=name).first()
            source = existing or services.create_cost_source(
                account=self.account, name=name, actor=self.cast.actor
            )
            if settle_days is not None:
                services.change_settle_days(source=source, settle_days=settle_days, actor=self.cast.actor)
        return source

    def bring(self, name: str, lines: Iterable[Line], *, on: date) -> CostSource:
        """Import these lines on a day."""
        self.files += 1
        path, rows = self.folder / f"bill-{self.files}.csv", list(lines)
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, dict.fromkeys([*COLUMNS, *(name for row in rows for name in row)]))
            writer.writeheader()
            writer.writerows(rows)
        with at(on):
            source = self.source(name)
            services.import_files(account=self.account, source=source, paths=[path], actor=self.cast.actor)
        return source
