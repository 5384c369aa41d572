"""A person's own pages: open sessions, and the security log."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.models import SecurityEvent
from accounts.security.clients import client_name
from accounts.security.queries import open_sessions
from accounts.security.services import end_sessions
from accounts.views.accounts import SignedInRequest

PAGE = 50


@login_required
@require_safe
def sessions(request: SignedInRequest) -> HttpResponse:
    return render(
        request, "accounts/security/sessions.html", {"sessions": open_sessions(request.user, request)}
    )


@login_required
@require_POST
def end(request: SignedInRequest) -> HttpResponse:
    """End one session by its `key`, or all but this one."""
    key = request.POST.get("key", "")
    count = end_sessions(user=request.user, request=request, keys=[key] if key else None)
    if count:
        messages.success(request, "Session ended." if key else f"{count} other sessions ended.")
    else:
        messages.info(request, "That session had already ended." if key else "No other sessions.")
    return redirect("sessions")


@login_required
@require_safe
def log(request: SignedInRequest) -> HttpResponse:
    page = Paginator(SecurityEvent.objects.filter(user=request.user), PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "pages": page.paginator.get_elided_page_range(page.number, on_each_side=1, on_ends=1),
        "rows": [(event, client_name(event.client)) for event in page],
    }
    return render(request, "accounts/security/log.html", context)
