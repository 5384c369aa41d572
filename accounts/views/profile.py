"""A person's profile: name, formats of dates and numbers, time zone, theme."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.forms import FormErrors, ProfileForm
from accounts.services import change_profile
from accounts.views.accounts import SignedInRequest
from finops.lib import clock
from finops.lib.formats import locales

_EXAMPLE_AMOUNT = Decimal("-1234.5")
_EXAMPLE_SHARE = Decimal("0.323")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def profile(request: SignedInRequest) -> HttpResponse:
    form = ProfileForm(request.POST) if request.method == "POST" else ProfileForm.of(request.user)
    if request.method == "POST" and form.is_valid():
        with FormErrors(form):
            change_profile(user=request.user, **form.cleaned_data)
            messages.success(request, "Profile saved")
            return redirect("profile")
        request.user.refresh_from_db()
    now = clock.now()
    context = {
        "form": form,
        "time_zones": sorted(locales.time_zones()),
        "example": {
            "now": now,
            "start": now.date() - timedelta(days=30),
            "end": now.date() - timedelta(days=1),
            "amount": _EXAMPLE_AMOUNT,
            "share": _EXAMPLE_SHARE,
        },
    }
    return render(request, "accounts/profile.html", context, status=422 if form.errors else 200)
