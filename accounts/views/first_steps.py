"""First steps of a new account: a person dismisses them."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from accounts import services
from accounts.doors import AccountRequest, account_page


@account_page()
@require_POST
def dismiss(request: AccountRequest) -> HttpResponse:
    """Her own panel only, so a viewer may too."""
    services.dismiss_first_steps(membership=request.membership)
    return redirect("overview", slug=request.account.slug)
