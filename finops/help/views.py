"""Help in the console: how amounts are counted, and the glossary."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.doors import AccountRequest, account_page
from finops.help.terms import terms_by_topic


@account_page()
@require_safe
def how_we_count(request: AccountRequest) -> HttpResponse:
    return render(request, "help/how_we_count.html")


@account_page()
@require_safe
def glossary(request: AccountRequest) -> HttpResponse:
    return render(request, "help/glossary.html", {"topics": terms_by_topic()})
