"""The access check of every page below `/a/<slug>/` (ring 1 of ADR 0001)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Concatenate, ParamSpec

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import Subquery
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode

from accounts.audit import Actor
from accounts.models import Account, Membership, Role, User
from accounts.scoping import account_scope
from accounts.security.mfa import has_second_factor
from accounts.security.policy import missing_factor_deadline, session_problem
from accounts.security.visits import visit_of
from accounts.sso.enforcement import enforced_provider, may_enter
from finops.lib import clock
from finops.lib.query_page import HtmxRequest
from finops.lib.registry import Registry
from finops.web.admission import TENANT, tenant

P = ParamSpec("P")
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class AccountRequest(HtmxRequest):
    """A request that passed the check, with its person, account and role."""

    user: User
    account: Account
    membership: Membership
    actor: Actor
    reachable_pages: frozenset[str] | None = None
    """The URL names of the pages that the person may open; None: all pages of the role."""


View = Callable[Concatenate[AccountRequest, P], HttpResponseBase]


page_scopes: Registry[Callable[[AccountRequest], AbstractContextManager[None]]] = Registry("scope of pages")
"""Context managers that other apps put around every page of an account, in the order of registration."""

page_refusals: Registry[Callable[[AccountRequest], HttpResponse | None]] = Registry("refusal of pages")
"""Functions of other apps that return a response to replace a page, called inside its scopes; None shows the page."""

member_annotations: Registry[Callable[[], Subquery]] = Registry("annotation of members")
"""Annotations of a membership that scopes read, by the name of the attribute: the check's one query includes them all. An
operator's visit has none of them."""


@contextmanager
def _page_scope(request: AccountRequest) -> Iterator[None]:
    with ExitStack() as scopes:
        for scope in page_scopes.values():
            scopes.enter_context(scope(request))
        yield


def account_page(role: Role = Role.VIEWER) -> Callable[[View[P]], Callable[..., HttpResponseBase]]:
    """Require a member of the URL's account with this role, and put the account in scope.

    Signed out: redirect to sign-in. No member, or no such account: the same 404. A lower role: 403. Also 403: a missing
    second factor that the account requires, a session that is too old or did not use the enforced single sign-on, and
    everybody while the account is suspended. Cost: one query.
    """

    def decorate(view: View[P]) -> Callable[..., HttpResponseBase]:
        @functools.wraps(view)
        def account_view(request: Any, slug: str, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            membership: Any = (
                Membership.objects.select_related("account")
                .annotate(
                    has_second_factor=has_second_factor("user_id"),
                    sso_provider=enforced_provider("account_id"),
                    **{name: make() for name, make in member_annotations.items()},
                )
                .filter(account__slug=slug, user=request.user)
                .first()
            )
            membership = membership or visit_of(request, slug)
            if membership is None:
                raise Http404("no such account")
            if membership.visit_until is not None and request.method not in SAFE_METHODS:
                raise PermissionDenied("You view this account as an operator and cannot change it.")
            if membership.account.suspended_at is not None and membership.visit_until is None:
                return _refusal_page(request, membership.account, "accounts/suspended.html")
            if refusal := _sign_in_refusal(request, membership):
                return refusal
            if not membership.may(role):
                raise PermissionDenied(
                    f"This requires the role {role.label}. Your role is {membership.get_role_display()}."
                )
            request.account, request.membership = membership.account, membership
            request.META[TENANT] = tenant(membership.account_id)
            request.actor = Actor.of_user(request.user)
            with account_scope(membership.account), _page_scope(request):
                refusal = next((each for refuse in page_refusals.values() if (each := refuse(request))), None)
                return _render_in_scope(refusal or view(request, *args, **kwargs))

        account_view.required_role = role  # type: ignore[attr-defined]
        return account_view

    return decorate


def _sign_in_refusal(request: Any, membership: Any) -> HttpResponse | None:
    """Return the page for a session that is too old for the account, or for a person without the second factor that it
    requires. Sets the membership's `second_factor_due`, which every page shows, during the days to set one up."""
    account: Account = membership.account
    if membership.visit_until is None and (problem := session_problem(request, account)):
        back = (
            request.get_full_path()
            if request.method in SAFE_METHODS
            else reverse("overview", args=[account.slug])
        )
        sign_in_url = f"{reverse('account_login')}?{urlencode({'next': back})}"
        return _refusal_page(
            request,
            account,
            "accounts/security/session_ended.html",
            problem=problem,
            sign_in_url=sign_in_url,
        )
    if membership.visit_until is None and not may_enter(
        request, request.user, membership.role, membership.sso_provider
    ):
        return _refusal_page(
            request, account, "accounts/sso/needed.html", provider_id=membership.sso_provider
        )
    deadline = missing_factor_deadline(account, membership, request)
    if deadline is not None and deadline <= clock.now():
        return _refusal_page(request, account, "accounts/security/second_factor_needed.html")
    membership.second_factor_due = deadline
    return None


def _refusal_page(request: HttpRequest, account: Account, template: str, **more: Any) -> HttpResponse:
    other_accounts = (
        Account.objects.filter(memberships__user=request.user.pk)
        .exclude(pk=account.pk)
        .order_by("name", "pk")
    )
    context = {"account_name": account.name, "others": other_accounts, **more}
    return render(request, template, context, status=403)


def _render_in_scope(response: HttpResponseBase) -> HttpResponseBase:
    """Render a lazy template response while the account is still in scope."""
    render = getattr(response, "render", None)
    return render() if callable(render) else response
