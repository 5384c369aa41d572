"""The search of the console: results for the text typed into the dialog of Ctrl K."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.page_access import AccountRequest, account_page
from finops.search import menu, queries
from finops.search.menu import SearchResult

INCOMPLETE = "X-Search-Incomplete"


@account_page()
@require_safe
def results(request: AccountRequest) -> HttpResponse:
    """Return options of a listbox. Pages, actions and rows with a name, one query; with `costs`, values of cost, which
    query the lake."""
    text = queries.clean_text(request.GET.get("q", ""))
    values = queries.cost_values(request.account, text) if "costs" in request.GET else None
    groups = values.groups if values is not None else _names(request, text)
    response = render(
        request, "search/_results.html", {"groups": {name: each for name, each in groups.items() if each}}
    )
    if values is not None and not values.is_complete:
        response[INCOMPLETE] = "1"
    return response


def _names(request: AccountRequest, text: str) -> dict[str, list[SearchResult]]:
    reachable = getattr(request, "reachable_pages", None)
    return {
        "Actions": menu.actions(request.membership, text, reachable=reachable),
        "Pages": menu.pages(request.membership, text, reachable=reachable),
        **queries.named_rows(request.account, request.user, text),
    }
