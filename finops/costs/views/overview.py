"""Overview: what the account spends, at a glance."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.doors import AccountRequest, account_page


@account_page()
@require_safe
def overview(request: AccountRequest) -> HttpResponse:
    return render(request, "costs/overview.html", {})
