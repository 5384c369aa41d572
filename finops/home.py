"""The way in: to sign-in, to one's account, or to making one."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from accounts.models import Membership


@login_required
def home(request: HttpRequest) -> HttpResponse:
    membership = (
        Membership.objects.select_related("account")
        .filter(user=request.user.pk)
        .order_by("created_at", "id")
        .first()
    )
    if membership is None:
        return redirect("account_create")
    return redirect("overview", slug=membership.account.slug)
