"""Settings → Members: people and their roles. Admins invite, change and remove; ownership is Settings → Account."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import queries, services
from accounts.creations import creations_of, names_of
from accounts.forms import ErrorMessages, FormErrors, InvitationForm, RemovalForm, RoleForm
from accounts.models import Invitation, MCPKey, Membership, Role
from accounts.page_access import AccountRequest, account_page
from accounts.reader_limits import narrowed_by_role
from accounts.security.queries import Member, members_with_factors
from accounts.services import change_role, remove_member
from finops.lib.listing import Column, ListFilter, Listing, ListPage, wants_csv

MEMBERS = ListPage[Membership](
    name="members",
    title="Members",
    noun="member",
    order="name",
    actions="Remove",
    columns=[
        Column("name", "Name", lambda row: row.user.name or row.user.email),
        Column("email", "Email", lambda row: row.user.email, shown=False),
        Column("role", "Role", lambda row: row.get_role_display()),
        Column("since", "Joined", lambda row: row.created_at, numeric=True),
    ],
)


def _factor(row: Member) -> str:
    return "on" if row.has_second_factor else "off"


_SECOND_FACTOR: Column[Any] = Column("factor", "Two-factor", _factor, css="nowrap")
MEMBERS_FOR_ADMINS = replace(
    MEMBERS,
    columns=[*MEMBERS.columns[:-1], _SECOND_FACTOR, MEMBERS.columns[-1]],
    filters=[
        ListFilter("factor", "Two-factor", "Any two-factor status", [("on", "On"), ("off", "Off")], _factor),
    ],
)


def _listing(request: AccountRequest) -> Listing[Any]:
    """Return the list; only admins see who has no second factor."""
    declared = MEMBERS_FOR_ADMINS if request.membership.may(Role.ADMIN) else MEMBERS
    return declared.listing(request, members_with_factors(request.account))


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    if wants_csv(request):
        declared = MEMBERS_FOR_ADMINS if request.membership.may(Role.ADMIN) else MEMBERS
        return declared.csv(_listing(request).matches)
    return _page(request, InvitationForm(request.account))


def _page(request: AccountRequest, form: InvitationForm) -> HttpResponse:
    context = {
        "listing": _listing(request),
        "form": form,
        "roles": Role.below_owner(),
        "limit_roles": (Role.VIEWER, Role.MEMBER),
    }
    if request.membership.may(Role.ADMIN):
        context["invitations"] = queries.open_invitations(request.account)
    return render(request, "accounts/members.html", context, status=422 if form.errors else 200)


@account_page(Role.ADMIN)
@require_POST
def invite(request: AccountRequest) -> HttpResponse:
    """Invite an address. The response is the same whether or not the address has signed up."""
    form = InvitationForm(request.account, request.POST)
    if form.is_valid():
        with FormErrors(form):
            invitation = services.invite(account=request.account, actor=request.actor, **form.cleaned_data)
            messages.success(
                request,
                f"Invited {invitation.email} as {invitation.get_role_display()}.",
            )
            return redirect("members", slug=request.account.slug)
    return _page(request, form)


@account_page(Role.ADMIN)
@require_POST
def resend(request: AccountRequest, invitation_id: int) -> HttpResponse:
    invitation = get_object_or_404(Invitation.objects, pk=invitation_id)
    with ErrorMessages(request):
        services.resend_invitation(invitation=invitation, actor=request.actor)
        messages.success(request, f"Invitation to {invitation.email} resent. The link is valid for 7 days.")
    return redirect("members", slug=request.account.slug)


@account_page(Role.ADMIN)
@require_POST
def withdraw(request: AccountRequest, invitation_id: int) -> HttpResponse:
    invitation = get_object_or_404(Invitation.objects, pk=invitation_id)
    with ErrorMessages(request):
        services.withdraw_invitation(invitation=invitation, actor=request.actor)
        messages.success(request, f"Invitation of {invitation.email} withdrawn.")
    return redirect("members", slug=request.account.slug)


@account_page(Role.ADMIN)
@require_POST
def change(request: AccountRequest, membership_id: int) -> HttpResponse:
    """Change a role. If that limits what the member made, list it first and change the role when it is confirmed."""
    membership = _membership(request, membership_id)
    form = RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose a role from the list.")
        return redirect("members", slug=request.account.slug)
    role = Role(form.cleaned_data["role"])
    creations = [] if "confirmed" in request.POST else narrowed_by_role(membership, role)
    if creations:
        title = f"Make {membership.user.label} {role.label}"
        context = {
            "title": title,
            "button": title,
            "person": membership.user,
            "creations": names_of(creations),
            "fields": {"role": role.value},
            "back": reverse("members", args=[request.account.slug]),
        }
        return render(request, "accounts/narrowing.html", context)
    with ErrorMessages(request):
        change_role(membership=membership, role=role, actor=request.actor)
        messages.success(request, f"{membership.user.label} is {role.label} now.")
    return redirect("members", slug=request.account.slug)


@account_page(Role.ADMIN)
@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: AccountRequest, membership_id: int) -> HttpResponse:
    """Show what the member made and ask to whom it is handed over; on POST remove the member. By default nobody gets
    it, and the keys are revoked."""
    membership = _membership(request, membership_id)
    posted = request.POST if request.method == "POST" else None
    form = RemovalForm(queries.heirs(membership), posted)
    if not form.is_valid():
        creations = list(creations_of(request.account, [membership.user_id]))
        context = {
            "member": membership,
            "form": form,
            "keys": names_of(each for each in creations if isinstance(each.row, MCPKey)),
            "others": names_of(each for each in creations if not each.ends_with_membership),
        }
        status = 422 if form.errors else 200
        return render(request, "accounts/member_remove.html", context, status=status)
    label, oneself = membership.user.label, membership.user_id == request.user.pk
    heir = form.chosen_heir
    with ErrorMessages(request):
        remove_member(membership=membership, actor=request.actor, heir=heir)
        keys = f"handed over to {heir.user.label}" if heir else "revoked"
        messages.success(request, f"Removed {label} and their connected apps. Their keys are {keys}.")
        return redirect("home") if oneself else redirect("members", slug=request.account.slug)
    return redirect("members", slug=request.account.slug)


def _membership(request: AccountRequest, membership_id: int) -> Membership:
    rows = Membership.objects.select_related("user", "account").filter(account=request.account)
    return get_object_or_404(rows, pk=membership_id)
