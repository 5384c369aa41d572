"""The reader's currency on pages: `?currency=` of the URL, stored in the session, and the switch that selects it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from django.http import HttpRequest, QueryDict

from accounts.models import Account
from accounts.page_access import AccountRequest
from finops.exchange_rates.display import ONLY, OWN, Display, display_of, display_scope
from finops.lib.errors import UserError

PARAMETER: Final = "currency"

COST_PAGES: Final = frozenset(
    {
        *("overview", "cost_explorer", "spend_change", "forecast", "budgets", "budget", "commitments"),
        *(
            "savings",
            "saving",
            "anomalies",
            "anomaly",
            "cost_tags",
            "cost_tag",
            "splits",
            "split",
            "teams",
            "team",
        ),
        *("unit_economics", "unit_metrics", "ai_spend", "dashboard", "report"),
    }
)
"""URL names of pages whose amounts follow the choice, and which show the switch."""

COMMON: Final = ("EUR", "USD", "GBP")


@dataclass(frozen=True)
class SwitchOption:
    """An option of the switch and its URL."""

    label: str
    href: str
    is_current: bool


@dataclass(frozen=True)
class CurrencySwitch:
    """The options of a page: one of the account's currencies only, or all of them converted."""

    label: str
    own: list[SwitchOption]
    converted: list[SwitchOption]


@contextmanager
def page_currency(request: AccountRequest) -> Iterator[None]:
    """Apply the reader's currency to a page, else the account's display currency; without one, and if the lines have
    several, only the first of them. No query. Requests that change data are not affected."""
    if request.method not in ("GET", "HEAD"):
        yield
        return
    choice = _choice(request)
    account = request.account
    if not choice and not account.display_currency and len(account.currencies) < 2:
        yield
        return
    display = _display(account, choice)
    setattr(request, "display", display)  # noqa: B010 - pages that have none lack the attribute
    with display_scope(display):
        yield


def _choice(request: AccountRequest) -> str:
    """Return the choice in the URL, which is stored in the session, else that of the session. The URL of a form uses the
    same name for its own field."""
    key = f"display-currency-{request.account.pk}"
    choice = request.GET.get(PARAMETER)
    match = request.resolver_match
    if choice is None or match is None or match.url_name not in COST_PAGES:
        return str(request.session.get(key, ""))
    try:
        display_of(request.account, choice)
    except UserError:
        return str(request.session.get(key, ""))
    if request.session.get(key, "") != choice:
        request.session[key] = choice
    return choice


def _display(account: Account, choice: str) -> Display:
    """Return the settings; a currency without lines in the account is ignored."""
    display = display_of(account, choice)
    if display.only and display.only not in account.currencies:
        display = display_of(account)
    if not display.only and not display.currency and len(account.currencies) > 1:
        return Display(account, only=account.currencies[0])
    return display


def display_of_page(request: HttpRequest) -> Display | None:
    """Return the currency settings of a page; None where the reader has nothing to select."""
    display: Display | None = getattr(request, "display", None)
    return display


def switch_of(request: HttpRequest) -> CurrencySwitch | None:
    """Return the switch of a page; None where there is nothing to select."""
    display = display_of_page(request)
    match = request.resolver_match
    if display is None or match is None or match.url_name not in COST_PAGES:
        return None
    account = display.account
    codes = dict.fromkeys([account.display_currency, display.currency, *account.currencies, *COMMON])
    return CurrencySwitch(
        label=display.currency or display.only or "Own currencies",
        own=[_option(request, f"{ONLY}{code}", code, display.only == code) for code in account.currencies]
        if len(account.currencies) > 1
        else [_option(request, OWN, "Not converted", not display.currency)],
        converted=[_option(request, code, code, display.currency == code) for code in codes if code],
    )


def _option(request: HttpRequest, choice: str, label: str, is_current: bool) -> SwitchOption:
    params: QueryDict = request.GET.copy()
    params[PARAMETER] = choice
    return SwitchOption(label, f"?{params.urlencode()}", is_current)
