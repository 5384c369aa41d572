"""Dismissing the first steps of a new account."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from accounts import services
from accounts.page_access import AccountRequest, account_page


@account_page()
@require_POST
def dismiss(request: AccountRequest) -> HttpResponse:
    """Dismiss the person's own panel, so viewers may too."""
    services.dismiss_first_steps(membership=request.membership)
    return redirect("overview", slug=request.account.slug)
