"""Settings → Audit log → Webhook."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from accounts.security.reauthentication import reauthenticate_first
from finops.audit_webhooks import sending, services
from finops.audit_webhooks.forms import NewWebhookForm, SendAgainForm, UrlForm
from finops.audit_webhooks.models import AuditWebhook
from finops.audit_webhooks.target import target_of
from finops.lib.sealing import Unsealable

SHOWN = 50


@account_page(Role.ADMIN)
@require_safe
def index(request: AccountRequest) -> HttpResponse:
    return _page(request, NewWebhookForm())


def _page(
    request: AccountRequest,
    form: UrlForm,
    again_form: SendAgainForm | None = None,
) -> HttpResponse:
    """Show the webhook with its newest deliveries, or the form of a new one."""
    webhook = AuditWebhook.objects.first()
    if webhook is None and not isinstance(form, NewWebhookForm):  # deleted since the page was opened
        form = NewWebhookForm(form.data)
    context = {
        "webhook": webhook,
        "target": _shown_target(webhook) if webhook else "",
        "deliveries": list(webhook.deliveries.all()[:SHOWN]) if webhook else [],
        "form": form,
        "again_form": again_form or SendAgainForm(),
    }
    status = 422 if form.errors or (again_form and again_form.errors) else 200
    return render(request, "audit_webhooks/webhook.html", context, status=status)


def _shown_target(webhook: AuditWebhook) -> str:
    try:
        return target_of(webhook).shown
    except Unsealable as error:
        return error.message


@account_page(Role.ADMIN)
@require_POST
def create(request: AccountRequest) -> HttpResponse:
    """Create the webhook. Only this response shows the signing secret."""
    form = NewWebhookForm(request.POST)
    if form.is_valid():
        reauthenticate_first(request)
        with FormErrors(form):
            _row, plaintext = services.create_audit_webhook(
                account=request.account,
                actor=request.actor,
                url=form.cleaned_data["url"],
                start_at=form.moment(),
            )
            return _secret_page(request, plaintext, is_rotated=False)
    return _page(request, form)


@account_page(Role.ADMIN)
@require_POST
def url(request: AccountRequest) -> HttpResponse:
    form = UrlForm(request.POST)
    if form.is_valid():
        reauthenticate_first(request)
        with FormErrors(form):
            services.change_url(account=request.account, actor=request.actor, url=form.cleaned_data["url"])
            messages.success(request, "URL changed. The signing secret stays.")
            return redirect("audit_webhook", slug=request.account.slug)
    return _page(request, form)


@account_page(Role.ADMIN)
@require_POST
def secret(request: AccountRequest) -> HttpResponse:
    """Rotate the signing secret and show the new one."""
    reauthenticate_first(request)
    with ErrorMessages(request):
        plaintext = services.rotate_secret(account=request.account, actor=request.actor)
        return _secret_page(request, plaintext, is_rotated=True)
    return redirect("audit_webhook", slug=request.account.slug)


def _secret_page(request: AccountRequest, plaintext: str, *, is_rotated: bool) -> HttpResponse:
    context = {"plaintext": plaintext, "is_rotated": is_rotated}
    return render(request, "audit_webhooks/secret.html", context)


@account_page(Role.ADMIN)
@require_POST
def pause(request: AccountRequest) -> HttpResponse:
    reauthenticate_first(request)
    with ErrorMessages(request):
        services.pause(account=request.account, actor=request.actor)
        messages.success(request, "Paused. Entries are kept, and sent when you resume it.")
    return redirect("audit_webhook", slug=request.account.slug)


@account_page(Role.ADMIN)
@require_POST
def resume(request: AccountRequest) -> HttpResponse:
    with ErrorMessages(request):
        services.resume(account=request.account, actor=request.actor)
        messages.success(request, "Resumed. Entries are sent within a minute.")
    return redirect("audit_webhook", slug=request.account.slug)


@account_page(Role.ADMIN)
@require_POST
def test(request: AccountRequest) -> HttpResponse:
    """Send a test and wait for the receiver's response, up to 10 s."""
    with ErrorMessages(request):
        outcome = sending.send_test(account=request.account, actor=request.actor)
        if outcome.verdict == "delivered":
            messages.success(request, f"Test arrived: {outcome.answer}")
        else:
            messages.error(request, f"Test failed: {outcome.answer}")
    return redirect("audit_webhook", slug=request.account.slug)


@account_page(Role.ADMIN)
@require_POST
def send_again(request: AccountRequest) -> HttpResponse:
    form = SendAgainForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            services.send_again(account=request.account, actor=request.actor, start_at=form.moment())
            messages.success(request, "Entries from that day on are sent again, with the same event IDs.")
            return redirect("audit_webhook", slug=request.account.slug)
    return _page(request, NewWebhookForm(), form)


@account_page(Role.ADMIN)
@require_POST
def delete(request: AccountRequest) -> HttpResponse:
    reauthenticate_first(request)
    with ErrorMessages(request):
        services.delete_audit_webhook(account=request.account, actor=request.actor)
        messages.success(request, "Audit log webhook deleted.")
    return redirect("audit_webhook", slug=request.account.slug)
