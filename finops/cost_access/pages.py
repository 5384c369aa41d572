"""The access check of pages: which cost the reader may see, and which pages are open to a limited reader."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.page_access import SAFE_METHODS, AccountRequest
from finops.cost_access.models import CostAccessLimit
from finops.cost_access.queries import LIMIT_ROLES
from finops.cost_access.reach import LEFT_OUT, PAGES, WRITES, instead_of
from finops.cost_access.resolution import resolve_limits
from finops.exchange_rates.display import account_currencies
from finops.lib.cost_access import REFUSED, cost_access
from finops.lib.errors import UserError

ATTRIBUTE = "cost_access_limit"
"""Request attribute: the name of the limit. Set only for limited readers."""
PROBLEM = "cost_access_problem"
"""Request attribute: why the reader's limit cannot be applied."""


@contextmanager
def page_access(request: AccountRequest) -> Iterator[None]:
    """Apply the reader's limit to a page. No query without a limit. If the limit cannot be applied, all cost stays
    denied."""
    limit_id = getattr(request.membership, "cost_limit_id", None)
    if limit_id is None or request.membership.role not in LIMIT_ROLES:
        with cost_access(None):
            yield
        return
    row = CostAccessLimit.objects.get(pk=limit_id)
    setattr(request, ATTRIBUTE, row.name)
    request.reachable_pages = PAGES
    try:
        limit = resolve_limits(request.account, [row])
    except UserError as problem:
        setattr(request, PROBLEM, problem.message)
        request.account.currencies, request.account.display_currency = [], ""
        yield
        return
    with cost_access(limit):
        see_currencies(request)
        yield


def see_currencies(request: AccountRequest) -> None:
    """Restrict the account's currencies to those of the reader's lines. One lake query, which is cached."""
    request.account.currencies = account_currencies(request.account)


def refuse_page(request: AccountRequest) -> HttpResponse | None:
    """The response that refuses a page to a limited reader if the page is not proven to stay within the limit;
    otherwise None. An address without a page shows no cost."""
    if not limit_of_page(request) or request.resolver_match is None:
        return None
    problem: str = getattr(request, PROBLEM, "")
    url_name = _url_name(request)
    if not problem and _is_open(url_name, request.method or ""):
        return None
    text = problem or f"{REFUSED} {instead_of(url_name)}".strip()
    return render(request, "cost_access/refused.html", {"text": text}, status=403)


def _is_open(url_name: str, method: str) -> bool:
    return url_name in WRITES or (url_name in PAGES and method in SAFE_METHODS)


def limit_of_page(request: HttpRequest) -> str:
    """The name of the reader's limit; empty without one."""
    name: str = getattr(request, ATTRIBUTE, "")
    return name


def limit_sentence(request: HttpRequest) -> str:
    """The first sentence of every export of a page: `Cost access is limited to Core team.`, and what the page leaves
    out under a limit; empty without a limit."""
    name = limit_of_page(request)
    if not name:
        return ""
    return f"Cost access is limited to {name}. {LEFT_OUT.get(_url_name(request), '')}".strip()


def _url_name(request: HttpRequest) -> str:
    match = request.resolver_match
    return (match.url_name or "") if match else ""
