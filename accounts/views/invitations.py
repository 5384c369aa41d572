"""The page of an invitation's link: who invites to which account, and the buttons to accept or decline."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts import services
from accounts.audit import Actor
from accounts.forms import ErrorMessages
from accounts.services.invitations import SESSION_KEY


@require_safe
def show(request: HttpRequest, token: str) -> HttpResponse:
    """Show an open invitation. The token is the credential of this page; accepting also needs a session with the
    address."""
    invitation = services.invitation_of(token)
    if invitation is None or invitation.state != "open":
        return render(request, "accounts/invitation_ended.html", {"invitation": invitation}, status=404)
    user = request.user
    if not user.is_authenticated:
        request.session[SESSION_KEY] = (
            token  # a sign-up with this address has then proved receipt of its mail
        )
    may = user.is_authenticated and services.may_accept(invitation, user)
    context = {"invitation": invitation, "token": token, "may_accept": may}
    return render(request, "accounts/invitation.html", context)


@require_POST
def accept(request: HttpRequest, token: str) -> HttpResponse:
    if not request.user.is_authenticated:
        return redirect("invitation", token)
    with ErrorMessages(request):
        membership = services.accept_invitation(token=token, user=request.user)
        messages.success(request, f"You joined {membership.account.name} as {membership.get_role_display()}.")
        return redirect("overview", slug=membership.account.slug)
    return redirect("invitation", token)


@require_POST
def decline(request: HttpRequest, token: str) -> HttpResponse:
    actor = Actor.of_user(request.user) if request.user.is_authenticated else None
    with ErrorMessages(request):
        invitation = services.decline_invitation(token=token, actor=actor)
        return render(request, "accounts/invitation_ended.html", {"invitation": invitation})
    return redirect("invitation", token)
