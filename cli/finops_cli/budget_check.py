"""`finops budget-check`: whether a budget's forecast stays within it with the change that Infracost estimates."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from finops_cli.client import Client
from finops_cli.errors import FAILED, CommandError


@dataclass(frozen=True)
class Estimate:
    """The monthly cost of a change; `unpriced`: number of resources for which Infracost has no price."""

    delta: Decimal
    currency: str
    unpriced: int


def run_budget_check(options: argparse.Namespace) -> None:
    """Print a verdict for each budget. Raises CommandError: with FAILED if a budget is exceeded, with ERROR if
    unknown."""
    estimate = read_estimate(options.delta)
    if estimate.unpriced:
        print(
            f"Warning: the estimate leaves out {estimate.unpriced} resources without a price.",
            file=sys.stderr,
        )
    every, warnings = _budgets(Client("token"))
    budgets = _select(every, options.budget)
    for warning in warnings:
        print(f"Warning: {warning}", file=sys.stderr)
    today = datetime.now(timezone.utc).date()
    exceeded = 0
    for budget in budgets:
        fits, sentence = verdict(budget, estimate, today)
        print(sentence)
        for warning in _warnings(budget):
            print(f"Warning: {budget['name']}: {warning}", file=sys.stderr)
        exceeded += not fits
    if exceeded:
        raise CommandError(f"{exceeded} of {len(budgets)} budgets exceeded.", FAILED)


def read_estimate(name: str) -> Estimate:
    """Read Infracost's JSON from a file or standard input. Raises CommandError if it has no delta."""
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        body = json.loads(text)
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise CommandError(f"{name} is no JSON. Write it by: infracost diff --format json") from error
    delta = body.get("diffTotalMonthlyCost") if isinstance(body, dict) else None
    if delta in (None, ""):
        raise CommandError(f"{name} has no diffTotalMonthlyCost. Write it by: infracost diff --format json")
    try:
        amount = Decimal(str(delta))
    except InvalidOperation:
        amount = Decimal("nan")
    if not amount.is_finite():
        raise CommandError(f"{name}: diffTotalMonthlyCost {delta!r} is no amount.")
    if not body.get("currency"):
        raise CommandError(f"{name} has no currency. Write it by: infracost diff --format json")
    summary = body.get("summary")
    unpriced = summary.get("totalUnsupportedResources") if isinstance(summary, dict) else 0
    return Estimate(amount, str(body["currency"]), unpriced if isinstance(unpriced, int) else 0)


def _budgets(client: Client) -> tuple[list[dict[str, Any]], list[str]]:
    """Return every budget, and the answer's warnings: the cost that all of their amounts leave out."""
    budgets: list[dict[str, Any]] = []
    cursor = ""
    while True:
        answer = client.call("listBudgets", {"cursor": cursor} if cursor else {}).json
        budgets += answer["budgets"]
        cursor = answer.get("cursor") or ""
        if not cursor:
            return budgets, answer["warnings"]


def _warnings(budget: dict[str, Any]) -> list[str]:
    """Return the budget's warnings, and its cost in currencies that it does not count."""
    others = budget.get("other_currencies") or []
    return [
        *(budget.get("warnings") or []),
        *(f"{each['amount']:,.2f} {each['currency']} of its cost is not counted." for each in others),
    ]


def _select(budgets: list[dict[str, Any]], names: list[str]) -> list[dict[str, Any]]:
    """Return the budgets with these names; without names, those of the whole account. Raises CommandError for an
    unknown name."""
    existing = ", ".join(str(each["name"]) for each in budgets) or "none"
    unknown = [name for name in names if all(each["name"] != name for each in budgets)]
    if unknown:
        raise CommandError(f"Budget {unknown[0]!r} does not exist. Budgets: {existing}.")
    if names:
        return [each for each in budgets if each["name"] in names]
    account_budgets = [each for each in budgets if each["scope"] == "account"]
    if not account_budgets:
        raise CommandError(f"The account has no budget of its whole cost. Choose with --budget: {existing}.")
    return account_budgets


def verdict(budget: dict[str, Any], estimate: Estimate, today: date) -> tuple[bool, str]:
    """Return whether the forecast and the delta stay within the amount, and a sentence with the figures.

    The delta counts once for each month from the current one to the last of the period. Raises CommandError for
    another currency and for a budget without a forecast.
    """
    name, currency = budget["name"], budget["currency"]
    if currency != estimate.currency:
        raise CommandError(
            f"Budget {name!r} is in {currency}, the estimate in {estimate.currency}. "
            f"Set the currency of Infracost: infracost configure set currency {currency}"
        )
    if budget.get("forecast") is None:
        reason = budget.get("forecast_reason") or budget.get("status_reason") or "no reason is given"
        raise CommandError(f"Budget {name!r} has no forecast: {reason}")
    end = date.fromisoformat(budget["end_date"])
    months = max(1, (end.year - today.year) * 12 + end.month - today.month + 1)
    forecast, amount = Decimal(budget["forecast"]), Decimal(budget["amount"])
    total = forecast + estimate.delta * months
    delta = f"{estimate.delta:+,.2f}" + (f" x {months} months" if months > 1 else "")
    remainder = amount - total
    result = f"within {amount:,.2f} {currency}, {remainder:,.2f} {currency} left"
    if remainder < 0:
        result = f"exceeds {amount:,.2f} {currency} by {-remainder:,.2f} {currency}"
    sentence = (
        f"{name} ({budget['start_date']} to {budget['end_date']}): "
        f"forecast {forecast:,.2f} {delta} = {total:,.2f} {currency}, {result}."
    )
    return remainder >= 0, sentence
