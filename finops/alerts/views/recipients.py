"""Pages on which a recipient of alert emails confirms or unsubscribes, through the link of an email."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import Account
from finops.alerts.recipients import confirm_recipient, recipient_of, recipients, unsubscribe_recipient


@require_safe
def show(request: HttpRequest, token: str) -> HttpResponse:
    account, address = _recipient(token)
    status = recipients(account, [address])
    context = {
        "account_name": account.name,
        "address": address,
        "token": token,
        "is_allowed": bool(status.allowed),
        "is_unsubscribed": bool(status.unsubscribed),
    }
    return render(request, "alerts/recipient.html", context)


@require_POST
def confirm(request: HttpRequest, token: str) -> HttpResponse:
    account, address = _recipient(token)
    confirm_recipient(account=account, address=address)
    return redirect("alert_recipient", token)


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """Unsubscribe. Mail programs post here without a session and follow no redirect (RFC 8058). A GET shows the page
    instead, since a link scanner would unsubscribe people. The token is the credential."""
    account, address = _recipient(token)
    if request.method == "POST":
        unsubscribe_recipient(account=account, address=address)
        if "List-Unsubscribe" in request.POST:
            return HttpResponse("Unsubscribed.\n", content_type="text/plain")
    return redirect("alert_recipient", token)


def _recipient(token: str) -> tuple[Account, str]:
    recipient = recipient_of(token)
    if recipient is None:
        raise Http404("no such recipient")
    return recipient
