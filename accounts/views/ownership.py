"""Settings → Account, for the owner: transfer ownership, delete the account, restore it."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from accounts import services
from accounts.forms import DeletionForm, ErrorMessages, FormErrors, TransferForm
from accounts.models import Membership, Role
from accounts.page_access import AccountRequest, account_page
from accounts.security.reauthentication import reauthenticate_first
from finops.lib.formats import dates


@account_page(Role.OWNER)
@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: AccountRequest) -> HttpResponse:
    form = DeletionForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        reauthenticate_first(request)
        with FormErrors(form):
            when = services.ask_for_deletion(
                account=request.account, actor=request.actor, name=form.cleaned_data["name"]
            )
            messages.success(
                request,
                (f"The account will be deleted on {dates.day(when.date())}. Until then you can restore it."),
            )
            return redirect("account_settings", slug=request.account.slug)
    return render(request, "accounts/delete.html", {"form": form}, status=422 if form.errors else 200)


@account_page(Role.OWNER)
@require_POST
def restore(request: AccountRequest) -> HttpResponse:
    return _redirect_after(
        request,
        lambda: services.restore_account(account=request.account, actor=request.actor),
        "Deletion canceled.",
    )


@account_page(Role.OWNER)
@require_POST
def transfer(request: AccountRequest) -> HttpResponse:
    form = TransferForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose a member or admin of the account.")
        return redirect("account_settings", slug=request.account.slug)
    rows = Membership.objects.select_related("user").filter(account=request.account)
    to = get_object_or_404(rows, pk=form.cleaned_data["membership_id"]).user
    reauthenticate_first(request)
    return _redirect_after(
        request,
        lambda: services.offer_ownership(account=request.account, to=to, by=request.user),
        f"Ownership offered to {to.label} by email. When they accept, you become an admin.",
    )


@account_page(Role.OWNER)
@require_POST
def withdraw(request: AccountRequest) -> HttpResponse:
    return _redirect_after(
        request,
        lambda: services.withdraw_ownership_offer(account=request.account, actor=request.actor),
        "Ownership offer withdrawn.",
    )


@account_page(Role.MEMBER)
@require_POST
def accept(request: AccountRequest) -> HttpResponse:
    return _redirect_after(
        request,
        lambda: services.accept_ownership(account=request.account, user=request.user),
        f"You are now the owner of {request.account.name}.",
    )


@account_page(Role.MEMBER)
@require_POST
def decline(request: AccountRequest) -> HttpResponse:
    """Decline the offer; does nothing for anybody but the named person."""
    if request.account.transfer_to_id != request.user.pk:
        messages.error(request, "No ownership offer for you.")
        return redirect("account_settings", slug=request.account.slug)
    return _redirect_after(
        request,
        lambda: services.withdraw_ownership_offer(account=request.account, actor=request.actor),
        "Ownership offer declined.",
    )


def _redirect_after(request: AccountRequest, write: Callable[[], None], success: str) -> HttpResponse:
    with ErrorMessages(request):
        write()
        messages.success(request, success)
    return redirect("account_settings", slug=request.account.slug)
