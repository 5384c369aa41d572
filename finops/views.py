"""Pages that belong to no app: the entry page, error pages with more exact statuses than the framework's, and security.txt."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from datetime import UTC, datetime, time, timedelta
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.template import loader
from django.templatetags.static import static
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import ErrorMessages
from accounts.models import Membership, Role
from accounts.page_access import AccountRequest, account_page
from finops.lib import clock
from finops.lib.unavailable import RETRY_SECONDS, is_unavailable
from finops.machine_errors import is_of_program, wrong_address


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


TOO_MANY_REQUESTS: Final = "Too many requests. Try again in {seconds} s."


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """400, but 413 where the body is larger than this server accepts."""
    status = 413 if isinstance(exception, RequestDataTooBig) else 400
    return render(request, f"{status}.html", status=status)


_ACCOUNT_PATH: Final = re.compile(r"/a/([-\w]+)/", re.ASCII)


@account_page()
def _missing_account_page(request: AccountRequest) -> HttpResponse:
    return render(request, "accounts/not_found.html", status=404)


def missing_page(request: HttpRequest, exception: Exception | None = None) -> HttpResponseBase:
    """404, for members of the URL's account with its navigation. Everybody else gets the page of an account that does
    not exist, also where the account's sign-in rules refuse the member."""
    if is_of_program(request):
        return wrong_address(request)
    match = _ACCOUNT_PATH.match(request.path_info)
    user = getattr(request, "user", None)  # none before the middleware that sets it
    if match and user is not None and user.is_authenticated:
        with suppress(Http404, PermissionDenied):
            page = _missing_account_page(request, slug=match[1])
            if page.status_code == 404:
                return page
    return render(request, "404.html", status=404)


def too_many_requests(request: HttpRequest, seconds: int = 60) -> HttpResponse:
    """429. allauth calls it without the seconds: its windows are a minute."""
    page = render(request, "429.html", {"seconds": seconds}, status=429)
    page["Retry-After"] = str(seconds)
    return page


def _unavailable() -> HttpResponse:
    page = loader.render_to_string("503.html")
    return HttpResponse(page, status=503, headers={"Retry-After": str(RETRY_SECONDS)})


def server_error(request: HttpRequest) -> HttpResponse:
    """500, but 503 where the database or Redis is unavailable: Django calls this while it handles the exception."""
    if is_unavailable(sys.exc_info()[1]):
        return _unavailable()
    return HttpResponse(loader.render_to_string("500.html"), status=500)


VALID = timedelta(days=180)


@require_safe
def favicon(_request: HttpRequest) -> HttpResponse:
    """The icon for responses that are not pages, such as JSON or a text file, at the path that browsers request."""
    return redirect(static("img/logo.svg"))


@require_safe
def security_txt(_request: HttpRequest) -> HttpResponse:
    until = datetime.combine(clock.today() + VALID, time(), tzinfo=UTC)
    lines = (
        f"Contact: {contact()}",
        f"Expires: {until:%Y-%m-%dT%H:%M:%SZ}",
        "Preferred-Languages: en",
        f"Canonical: {settings.PUBLIC_URL}/.well-known/security.txt",
    )
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")


def contact() -> str:
    """A URI: SECURITY_CONTACT, else the mailbox that RFC 2142 reserves for it at the console's host."""
    configured: str = settings.SECURITY_CONTACT.strip()
    if ":" in configured:
        return configured
    return f"mailto:{configured or 'security@' + (urlsplit(settings.PUBLIC_URL).hostname or 'localhost')}"


@account_page(Role.MEMBER)
@require_POST
def sample_data(request: AccountRequest) -> HttpResponse:
    """*Try with sample data*: create a connection to a made-up company's bill. Its generator is imported only here."""
    from finops.demo.samples import create_sample_connection

    with ErrorMessages(request):
        connection = create_sample_connection(account=request.account, actor=request.actor)
        sync = connection.syncs.order_by("pk")[0]
        return redirect("cost_sync", slug=request.account.slug, sync_id=sync.pk)
    return redirect("connections", slug=request.account.slug)
