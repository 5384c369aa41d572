"""Messages of events without an alert: an import that finished, a forecast that changed."""

from __future__ import annotations

from decimal import Decimal

from accounts.models import Account
from finops.alerts.messages import Fact, Message, console_url
from finops.alerts.triggers import imports
from finops.alerts.triggers.figures import amount
from finops.budgets.forecast_answers import ForecastAnswer
from finops.costs.models import CostImport
from finops.lib.formats import dates, numbers
from finops.lib.sentences import join_with_and, quote, truncate

MOST_MONTHS = 12


def finished_import_message(account: Account, job: CostImport) -> Message:
    """Return the message of an import that counts; its review reasons are worded as in the alert."""
    if job.report.get("reviews"):
        return imports.message(account, job)
    source, months = truncate(job.source.name, 100), [str(month) for month in job.months]
    listed = join_with_and([*months[:MOST_MONTHS], *(["more"] if len(months) > MOST_MONTHS else [])])
    billed = f" of {listed}" if months else ""
    return Message(
        title=f"{quote(account.name)}: an import into {quote(source)} finished",
        summary=f"{job.rows:,} lines{billed} from {quote(job.file_name, 100)} are counted.",
        facts=(Fact("Account", account.name), Fact("Source", source)),
        url=console_url(account, "cost_import", import_id=job.pk),
        kind="import",
        dedup_key=f"account-{account.pk}:import-{job.pk}",
        data={
            "import_id": job.pk,
            "source": job.source.name,
            "waits": False,
            "lines": job.rows,
            "months": [{"month": month} for month in months[:MOST_MONTHS]],
        },
    )


def forecast_message(
    account: Account,
    answer: ForecastAnswer,
    currency: str,
    before: Decimal,
    now: Decimal,
    other_currencies: list[str],
) -> Message:
    """Return the message for the currency with the largest change; the forecasts in `other_currencies` changed too."""
    end = answer.period.end_date
    through = answer.data_through
    also = f" The forecasts in {join_with_and(other_currencies)} changed too." if other_currencies else ""
    rests_on = f" It rests on cost through {dates.day(through)}." if through else ""
    direction = "rose" if now > before else "fell"
    return Message(
        title=f"{quote(account.name)}: the forecast of the month {direction} to {numbers.money(now, currency)}",
        summary=(
            f"The forecast for {dates.day(end)} is {numbers.money(now, currency)}; it was "
            f"{numbers.money(before, currency)}.{also}{rests_on}"
        ),
        facts=(Fact("Account", account.name),),
        url=console_url(account, "forecast"),
        severity="warning" if now > before else "info",
        kind="forecast",
        dedup_key=f"account-{account.pk}:forecast:{answer.period.start_date}",
        data={
            "period": {"start_date": str(answer.period.start_date), "end_date": str(end)},
            "expected": amount(now, currency),
            "previous": amount(before, currency),
            "data_through": str(through) if through else None,
        },
    )
