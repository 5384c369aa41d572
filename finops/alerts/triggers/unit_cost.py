"""Unit costs above their target: start and end of episodes, and their messages.

An episode starts with the first complete day, week or month whose unit cost is above the target, and ends with the
next that is not. Each start and each end is sent once; a period without a unit cost changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from typing import Any, Final
from urllib.parse import urlencode

from accounts.models import Account
from finops.alerts.messages import Fact, Message, console_url
from finops.alerts.models import AlertSubscription
from finops.alerts.triggers.complete_period import CompletePeriod
from finops.alerts.triggers.figures import amount, share
from finops.alerts.triggers.spend import limit_notes
from finops.costs.queries.sources import Sources
from finops.costs.queries.spend_words import incomplete_words, left_out_clause
from finops.exchange_rates.missing_rates import missing_rate_clause, missing_rate_warnings
from finops.lib import sentences
from finops.lib.drawings.chart import ColumnChart, DrawnSeries, to_values
from finops.lib.formats import dates, numbers
from finops.lib.formats.sentences import reader_text
from finops.unitcosts.answers import UnitCostAnswer, UnitCostTotal
from finops.unitcosts.queries.cards import per_unit
from finops.unitcosts.queries.words import days_warning
from finops.unitcosts.unit_cost_query import UnitCostQuery

PREFIX: Final = "unit_cost:"
END: Final = ":end"


def unit_cost_query(name: str, period: CompletePeriod) -> UnitCostQuery:
    """Return the unit metric's query for a period, compared with the previous one."""
    return UnitCostQuery(
        unit_metric=name,
        start_date=period.days.start,
        end_date=period.days.end,
        compare_to="previous_period",
        granularity="day" if period.days.days > 1 else "none",
    )


def key_of(period: CompletePeriod) -> str:
    """Return the firing key that starts an episode."""
    return f"{PREFIX}{period.mark}"


def total_in(answer: UnitCostAnswer, currency: str) -> UnitCostTotal | None:
    """Return the total of a currency that has a unit cost; None without one."""
    matches = [total for total in answer.totals if total.currency == currency and total.unit_cost is not None]
    return matches[0] if matches else None


def due_keys(period: CompletePeriod, *, is_above: bool, fired_keys: Collection[str]) -> tuple[str, ...]:
    """Return the keys to fire now: the start of an episode, or the ends of open ones."""
    key = key_of(period)
    open_keys = [
        each for each in sorted(fired_keys) if not each.endswith(END) and each + END not in fired_keys
    ]
    if is_above:
        return () if open_keys or key in fired_keys else (key,)
    return tuple(each + END for each in open_keys)


def missing_rates(answer: UnitCostAnswer) -> list[str]:
    """Return warnings about cost that the unit cost leaves out for lack of an exchange rate."""
    return missing_rate_warnings(_costs(answer))


def message(
    account: Account,
    subscription: AlertSubscription,
    period: CompletePeriod,
    answer: UnitCostAnswer,
    total: UnitCostTotal,
    *,
    sources: Sources,
    is_end: bool,
) -> Message:
    """Return the message of the start or end of an episode. The subscription's unit metric must be loaded."""
    name = sentences.quote(answer.unit_metric)
    unit = per_unit(answer.per, answer.unit, answer.usage_metric)
    unit_cost, target = total.unit_cost or Decimal(0), subscription.target or Decimal(0)
    figure = f"{numbers.price(unit_cost, total.currency)} per {unit}"
    event = "is back within its target" if is_end else "is above its target"
    days = dates.day_range(period.days.start, period.days.end)
    target_text = numbers.price(target, total.currency)
    query = unit_cost_query(answer.unit_metric, period)
    return Message(
        title=f"{sentences.quote(account.name)}: {name} {event}: {figure}",
        summary=" ".join(
            [
                f"{name} was {figure}, {days}{_caveat(answer, period, sources)}; the target is {target_text}.",
                *limit_notes(_notes(answer, period), "in unit economics"),
            ]
        ),
        facts=(
            Fact("Account", account.name),
            Fact("Unit cost", figure),
            Fact("Target", target_text),
            *_beyond_fact(unit_cost, target, total.currency),
            Fact("Cost", numbers.money(total.cost, total.currency)),
            *([Fact("Usage", numbers.quantity(total.usage, answer.unit))] if total.usage is not None else []),
            *_change_fact(total),
        ),
        url=f"{console_url(account, 'unit_economics')}?{urlencode(query.to_params(), doseq=True)}",
        severity="info" if is_end else "warning",
        kind="unit_cost",
        is_end=is_end,
        dedup_key=f"account-{account.pk}:unit-cost-{subscription.pk}",
        data=_data(period, answer, total, target),
        chart=_chart(total, target),
    )


def _chart(total: UnitCostTotal, target: Decimal) -> ColumnChart | None:
    """Return the chart of the unit cost by day with the target; None for a single day."""
    if len(total.buckets) < 2:
        return None
    return ColumnChart(
        title=f"Unit cost by day in {total.currency}",
        currency=total.currency,
        labels=[f"{bucket.start_date}" for bucket in total.buckets],
        series=[
            DrawnSeries(name="Unit cost", values=to_values([bucket.unit_cost for bucket in total.buckets]))
        ],
        limit=float(target),
        limit_name="Target",
    )


def _costs(answer: UnitCostAnswer) -> dict[str, Decimal]:
    return {total.currency: total.cost for total in answer.totals}


def _caveat(answer: UnitCostAnswer, period: CompletePeriod, sources: Sources) -> str:
    """Return what is left out: days of usage, cost without an exchange rate or of charge categories that
    are not counted, cost of sources that stopped."""
    usage = (
        f", with usage on {answer.usage_days} of {period.days.days} days"
        if answer.usage_days < answer.cost_days
        else ""
    )
    incomplete = incomplete_words(sources.coverage, period.days, {}, sources.names_by_id)
    left_out = left_out_clause(part for total in answer.totals for part in total.left_out)
    return reader_text(f"{usage}{missing_rate_clause(_costs(answer))}{left_out}{incomplete}")


def _notes(answer: UnitCostAnswer, period: CompletePeriod) -> list[str]:
    """Return the warnings that are not in the first sentence."""
    in_first_sentence = {
        *missing_rates(answer),
        *days_warning(answer.cost_days, answer.usage_days, period.days.days),
    }
    return [reader_text(each) for each in answer.warnings if each not in in_first_sentence]


def _beyond_fact(unit_cost: Decimal, target: Decimal, currency: str) -> list[Fact]:
    if unit_cost <= target:
        return []
    part = share(unit_cost - target, target)
    text = f"+{numbers.price(unit_cost - target, currency)}"
    return [Fact("Above target", f"{text} ({part})" if part else text)]


def _change_fact(total: UnitCostTotal) -> list[Fact]:
    change = total.change
    if change is None or change.previous_unit_cost is None:
        return []
    text = numbers.price(change.previous_unit_cost, total.currency)
    ratio = "" if change.ratio is None else f" ({numbers.change(change.ratio)})"
    return [Fact("Previous period", f"{text}{ratio}")]


def _data(
    period: CompletePeriod, answer: UnitCostAnswer, total: UnitCostTotal, target: Decimal
) -> dict[str, Any]:
    return {
        "unit_metric": answer.unit_metric,
        "start_date": str(period.days.start),
        "end_date": str(period.days.end),
        "per": answer.per,
        "unit_cost": amount(total.unit_cost, total.currency),
        "target": amount(target, total.currency),
        "cost": amount(total.cost, total.currency),
    }
