"""Questions about other assumptions, purchases of commitments, versions of bills, change events and receipts."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from decimal import ROUND_DOWN, Decimal
from fractions import Fraction
from typing import Any

from finops.demo.change_events import events_on
from finops.demo.loader import LATE_CHARGE
from finops.lib.periods import DateRange
from tests.evaluation.question import Question, Truth
from tests.evaluation.readers import Answer, exact
from tests.evaluation.truth import PERIODS, PLACES, YESTERDAY, Figures, RawFiles, Spend

USAGE = "ChargeCategory = 'Usage' and coalesce(CommitmentDiscountStatus, '') = ''"
COVERED = "ChargeCategory = 'Usage' and CommitmentDiscountStatus = 'Used'"
UNUSED = "ChargeCategory = 'Usage' and CommitmentDiscountStatus = 'Unused'"
COVERABLE = f"{USAGE} and PricingCategory = 'Standard'"
EC2 = "Amazon Elastic Compute Cloud"
DISCOUNT = 27
HOURS = 24


# Other assumptions


def _amortized_cost(
    raw: RawFiles, period: str, where: str = "true", measure: str = "EffectiveCost"
) -> dict[str, Decimal]:
    start, end = PERIODS[period]
    statement = (
        f"select BillingCurrency, sum({measure}) from lines "
        f"where day between '{start}' and '{end}' and ({where}) group by all"
    )
    return {currency: amount for currency, amount in raw.rows(statement) if amount is not None}


def _simulation_figures(baseline: Mapping[str, Decimal], change: Mapping[str, Decimal]) -> Figures:
    return {
        (currency, part): figure
        for currency, amount in baseline.items()
        for part, figure in (("baseline", amount), ("simulated", amount + change.get(currency, Decimal(0))))
    }


def _with_growth(period: str, percent: int, where: str = "true") -> Truth:
    """Usage on demand grows as it is priced; what grows beyond a commitment is on demand too."""

    def truth(raw: RawFiles) -> Figures:
        change: dict[str, Decimal] = {}
        for scope, measure in ((USAGE, "EffectiveCost"), (COVERED, "ContractedCost")):
            for currency, amount in _amortized_cost(raw, period, f"{scope} and ({where})", measure).items():
                change[currency] = change.get(currency, Decimal(0)) + amount * percent / 100
        return _simulation_figures(_amortized_cost(raw, period), change)

    return truth


def _without_commitments(period: str) -> Truth:
    """Covered usage costs what was contracted, unused commitments nothing."""

    def truth(raw: RawFiles) -> Figures:
        contracted = _amortized_cost(raw, period, COVERED, "ContractedCost")
        paid = _amortized_cost(raw, period, f"({COVERED}) or ({UNUSED})")
        change = {
            currency: contracted.get(currency, Decimal(0)) - paid.get(currency, Decimal(0))
            for currency in contracted | paid
        }
        return _simulation_figures(_amortized_cost(raw, period), change)

    return truth


def _with_purchase(period: str, per_hour: int) -> Truth:
    """An amount per hour, used or not, in place of on-demand usage worth `per_hour` ÷ (1 - discount)."""

    def truth(raw: RawFiles) -> Figures:
        days = _on_demand_days(raw, *PERIODS[period])["USD"]
        start, end = PERIODS[period]
        covers = Fraction(per_hour * HOURS * 100, 100 - DISCOUNT)
        covered = sum((min(amount, covers) for amount in days.values()), Fraction(0))
        change = per_hour * HOURS * ((end - start).days + 1) - covered
        return _simulation_figures(_amortized_cost(raw, period), {"USD": _decimal(change)})

    return truth


def _decimal(value: Fraction) -> Decimal:
    return (Decimal(value.numerator) / Decimal(value.denominator)).quantize(PLACES)


def _on_demand_days(
    raw: RawFiles, start: datetime.date, end: datetime.date
) -> dict[str, dict[datetime.date, Fraction]]:
    """Usage at standard prices by currency and day; the demo's bills have no hours."""
    days: dict[str, dict[datetime.date, Fraction]] = {}
    for (_provider, currency), amounts in _provider_days(raw, start, end).items():
        of_currency = days.setdefault(currency, {})
        for day, amount in amounts.items():
            of_currency[day] = of_currency.get(day, Fraction(0)) + amount
    return days


def _provider_days(
    raw: RawFiles, start: datetime.date, end: datetime.date
) -> dict[tuple[str, str], dict[datetime.date, Fraction]]:
    """Usage at standard prices by provider, currency and day."""
    statement = (
        "select ProviderName, BillingCurrency, day, sum(EffectiveCost) from lines "
        f"where day between '{start}' and '{end}' and {COVERABLE} "
        "and ChargePeriodEnd <= ChargePeriodStart + interval 48 hours group by all"
    )
    days: dict[tuple[str, str], dict[datetime.date, Fraction]] = {}
    for provider, currency, day, amount in raw.rows(statement):
        days.setdefault((provider, currency), {})[day] = Fraction(amount)
    return days


def _totals(answer: Answer) -> Figures:
    return {
        (each["currency"], part): exact(each[part])
        for each in answer["totals"]
        for part in ("baseline", "simulated")
    }


def about_assumptions() -> Iterator[Question]:
    for text, arguments, truth in (
        (
            "What would last month have cost with ten percent more usage?",
            {"period": "last_month", "growth": [{"percent": 10}]},
            _with_growth("last_month", 10),
        ),
        (
            "What if our usage of EC2 had been a quarter higher last month?",
            {"period": "last_month", "growth": [{"percent": 25, "dimension": "service", "values": [EC2]}]},
            _with_growth("last_month", 25, f"ServiceName = '{EC2}'"),
        ),
        (
            "What would we pay without any reservation or savings plan, going by last month?",
            {"period": "last_month", "commitments": "end"},
            _without_commitments("last_month"),
        ),
        (
            "Do our commitments save anything in the last 30 days, and how much more would it be without them?",
            {"period": "last_30_days", "commitments": "end"},
            _without_commitments("last_30_days"),
        ),
        (
            "What if we had committed to one dollar per hour at 27 percent off last month?",
            {"period": "last_month", "purchases": [_purchase(1)]},
            _with_purchase("last_month", 1),
        ),
        (
            "Would a savings plan of five dollars per hour have been too large last month?",
            {"period": "last_month", "purchases": [_purchase(5)]},
            _with_purchase("last_month", 5),
        ),
    ):
        yield Question(text, "simulateCost", arguments, truth, _totals)


def _purchase(per_hour: int) -> dict[str, Any]:
    return {"per_hour": per_hour, "discount_percent": DISCOUNT, "currency": "USD"}


# Purchases


def _advice(raw: RawFiles) -> Figures:
    """The lowest of the commitments that would have saved most in the last 7, 30 and 60 days, by trying every level."""
    figures: Figures = {}
    longest = _provider_days(raw, YESTERDAY - datetime.timedelta(days=59), YESTERDAY)
    for scope, amounts in longest.items():
        levels = []
        for count in (7, 30, 60):
            first = YESTERDAY - datetime.timedelta(days=count - 1)
            levels.append(_best_level([amount for day, amount in amounts.items() if day >= first], count))
        per_hour = min(levels) * (100 - DISCOUNT) / 100
        figures[*scope, "per_hour"] = _decimal(per_hour).quantize(Decimal("0.001"), ROUND_DOWN)
        figures[*scope, "on_demand"] = _decimal(sum(amounts.values(), Fraction(0)))
    return figures


def _best_level(amounts: list[Fraction], days: int) -> Fraction:
    """What to cover per hour; the highest of equal ones."""

    def saving(level: Fraction) -> Fraction:
        covered = sum((min(amount, level * HOURS) for amount in amounts), Fraction(0))
        return covered - level * HOURS * days * (100 - DISCOUNT) / 100

    return max(
        [Fraction(0), *(amount / HOURS for amount in amounts)], key=lambda level: (saving(level), level)
    )


def about_purchases() -> Iterator[Question]:
    for text in (
        "Which savings plan should we buy at 27 percent discount?",
        "How much per hour should we commit to if the discount is 27 percent?",
    ):
        yield Question(
            text,
            "planCommitmentPurchase",
            {"discount_percent": DISCOUNT},
            _advice,
            lambda answer: {
                (each["provider"], each["currency"], part): exact(each[part])
                for each in answer["plans"]
                for part in ("per_hour", "on_demand")
            },
        )


# Versions of bills


def _late_charges(raw: RawFiles) -> Figures:
    late = raw.spend(Spend("month_before", where=f"ChargeDescription = '{LATE_CHARGE}'"))
    whole = raw.spend(Spend("month_before", where="ProviderName = 'Anthropic'"))
    return {
        (currency, part): figure
        for (currency,), amount in whole.items()
        for part, figure in (("billed_after", amount), ("billed_change", late[(currency,)]))
    }


def about_versions() -> Iterator[Question]:
    for text, arguments in (
        ("What did a provider restate most recently, and by how much?", {}),
        ("Which lines changed in the bills of September 2026 after we had them?", {"month": "2026-09"}),
    ):
        yield Question(
            text,
            "compareBillVersions",
            arguments,
            _late_charges,
            lambda answer: {
                (each["currency"], part): exact(each[part])
                for each in answer["totals"]
                for part in ("billed_after", "billed_change")
            },
        )


# Change events


def _events(kind: str, period: str) -> Truth:
    def truth(_raw: RawFiles) -> Figures:
        start, end = PERIODS[period]
        return {
            (each["title"], each["occurred_at"][:13]): Decimal(1)
            for each in events_on(DateRange(start, end))
            if each["kind"] == kind
        }

    return truth


def about_events() -> Iterator[Question]:
    for text, kind, period in (
        ("What did we deploy in October?", "deployment", "last_month"),
        ("What was deployed between 9 and 15 November?", "deployment", "last_week"),
        ("Which incidents did we have in September?", "incident", "month_before"),
    ):
        start, end = PERIODS[period]
        yield Question(
            text,
            "listChangeEvents",
            {"kinds": [kind], "start_date": str(start), "end_date": str(end), "limit": 100},
            _events(kind, period),
            lambda answer: {
                (each["title"], each["occurred_at"][:13]): Decimal(1) for each in answer["events"]
            },
        )


# Receipts

_AMOUNT = re.compile(r"(-?[\d,]+\.\d\d) ([A-Z]{3})")


def _same(period: str) -> Truth:
    """Still the same figures, and these are the raw files'."""

    def truth(raw: RawFiles) -> Figures:
        cents: Figures = {
            key: amount.quantize(Decimal("0.01")) for key, amount in raw.spend(Spend(period)).items()
        }
        cents[("same",)] = Decimal(1)
        return cents

    return truth


def _verification_figures(answer: Answer) -> Figures:
    """The outcome, and the first amount of each currency in the sentence of today."""
    figures: Figures = {(answer["outcome"],): Decimal(1)}
    for text, currency in _AMOUNT.findall(answer["now"]):
        figures.setdefault((currency,), Decimal(text.replace(",", "")))
    return figures


def about_receipts() -> Iterator[Question]:
    for text, period in (
        ("Is the total that you gave me for last month still right?", "last_month"),
        ("Prove the figure for the last 7 days by its receipt.", "last_7_days"),
    ):
        yield Question(
            text, "verifyAnswer", {}, _same(period), _verification_figures, receipt_of={"period": period}
        )
