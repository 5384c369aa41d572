"""Sign-in through an identity provider: the redirect there and the response."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from uuid import UUID

from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.models import Login
from django import forms
from django.contrib.auth import logout
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts import audit
from accounts.audit import Actor
from accounts.forms import FormErrors
from accounts.models import SecurityEvent, User
from accounts.security.services import record
from accounts.sso import attempts, oidc
from accounts.sso.claims import Claims, SignInRefusal
from accounts.sso.enforcement import METHOD
from accounts.sso.models import IdentityProvider
from accounts.sso.queries import domain_of, provider_of_email, service_providers
from accounts.sso.sign_in import check_active, person_of
from finops.lib.errors import UserError
from finops.lib.extras import MissingExtra, require_extra

Protocol = IdentityProvider.Protocol


class EmailForm(forms.Form):
    email = forms.EmailField(
        label="Work email",
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "email", "autofocus": True}),
        error_messages={"required": "Enter your work email."},
    )


@require_http_methods(["GET", "HEAD", "POST"])
def start(request: HttpRequest) -> HttpResponse:
    """Start a sign-in by email or by a provider's button. The next page redirects by itself, because our
    Content-Security-Policy blocks a form's redirect to another site."""
    values = request.POST if request.method == "POST" else request.GET
    next_url = _safe_next(request, str(values.get("next", "")))
    form = EmailForm(
        request.POST if request.method == "POST" else None, initial={"email": values.get("email")}
    )
    if request.method == "POST":
        with FormErrors(form):
            provider = _chosen_provider(request, form)
            if provider is not None:
                url = attempts.begin_sign_in(provider=provider, session=request.session, next_url=next_url)
                return render(request, "accounts/sso/redirect.html", {"url": url, "provider": provider})
    context = {
        "form": form,
        "next": next_url,
        "providers": service_providers(),
        "owner_url": f"{reverse('account_login')}?{urlencode({'owner': '1', 'next': next_url})}",
    }
    return render(request, "accounts/sso/start.html", context, status=422 if form.errors else 200)


def _chosen_provider(request: HttpRequest, form: EmailForm) -> IdentityProvider | None:
    """Return the provider; None if the form has an error. Raises UserError for an address without a provider and for
    a disabled provider."""
    if public_id := request.POST.get("provider"):
        provider = _provider(public_id)
        check_active(provider)
        return provider
    if not form.is_valid():
        return None
    email = form.cleaned_data["email"]
    email_provider = provider_of_email(email)
    if email_provider is None:
        raise UserError(
            f"{domain_of(email)} has no single sign-on. Sign in with your password.", field="email"
        )
    return email_provider


def _provider(public_id: str) -> IdentityProvider:
    try:
        rows = IdentityProvider.objects.select_related("account").filter(account__suspended_at=None)
        return get_object_or_404(rows, public_id=public_id)
    except ValidationError as error:
        raise Http404("no such provider") from error


def _safe_next(request: HttpRequest, url: str) -> str:
    is_safe = url_has_allowed_host_and_scheme(
        url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return url if is_safe else ""


@require_GET
def callback(request: HttpRequest, public_id: UUID | None = None) -> HttpResponse:
    """OpenID Connect's redirect URI: of one provider, or the shared one. A SignInRefusal becomes a page with the
    reason."""
    token = request.GET.get("state", "")
    provider = None
    try:
        attempt = _attempt_of_browser(request, token)
        provider = attempt.provider
        if provider.protocol != Protocol.OIDC:
            raise SignInRefusal("This response is for another protocol.")
        attempts.use_attempt(attempt)
        if public_id != (provider.public_id if provider.has_own_redirect_uri else None):
            raise SignInRefusal("This response is from another identity provider.")
        _check_answer(provider, request)
        claims = oidc.finish(provider, request.GET.get("code", ""), attempts.state_of(attempt))
        return _sign_in(request, provider, claims, attempt.next_url)
    except UserError as error:
        return _refuse(request, provider, error)


def _check_answer(provider: IdentityProvider, request: HttpRequest) -> None:
    if error := request.GET.get("error"):
        description = request.GET.get("error_description", "")[:200]
        raise SignInRefusal(f"{provider.name} ended the sign-in: {error[:100]}. {description}".strip())
    if request.GET.get("iss", provider.issuer) != provider.issuer:
        raise SignInRefusal("The response is from another issuer.")
    if not request.GET.get("code"):
        raise SignInRefusal(f"{provider.name} sent no code.")


@csrf_exempt
@require_POST
def saml_acs(request: HttpRequest, public_id: str) -> HttpResponse:
    """SAML's assertion consumer service. The browser posts the response from the provider's site, without our cookie,
    so the claims are stored and count once the browser that started the attempt follows. A SignInRefusal becomes a
    page with the reason."""
    token, provider = request.POST.get("RelayState", ""), None
    try:
        attempt = attempts.attempt_of(token)
        provider = attempt.provider
        if str(provider.public_id) != str(public_id) or provider.protocol != Protocol.SAML:
            raise SignInRefusal("This response is from another identity provider.")
        require_extra("SAML")
        from accounts.sso import saml

        claims = saml.finish(provider, request.POST.get("SAMLResponse", ""), attempts.state_of(attempt))
        attempts.keep_claims(attempt, claims)
    except UserError as error:
        return _refuse(request, provider, error)
    return redirect(f"{reverse('sso_saml_complete')}?{urlencode({'state': token})}")


@require_GET
def saml_complete(request: HttpRequest) -> HttpResponse:
    provider = None
    try:
        attempt = _attempt_of_browser(request, request.GET.get("state", ""))
        provider = attempt.provider
        claims = attempts.kept_claims(attempt)
        attempts.use_attempt(attempt)
        return _sign_in(request, provider, claims, attempt.next_url)
    except UserError as error:
        return _refuse(request, provider, error)


@require_GET
def saml_metadata(request: HttpRequest, public_id: str) -> HttpResponse:
    """Return the service provider's metadata. Public: it contains no secret."""
    provider = _provider(public_id)
    if provider.protocol != Protocol.SAML:
        raise Http404("no such provider")
    try:
        require_extra("SAML")
    except MissingExtra as error:
        return HttpResponse(error.message, content_type="text/plain", status=HTTPStatus.NOT_IMPLEMENTED)
    from accounts.sso import saml

    return HttpResponse(saml.service_metadata(provider), content_type="application/samlmetadata+xml")


def _attempt_of_browser(request: HttpRequest, token: str) -> Any:
    if not attempts.is_of_browser(token, request.session):
        raise SignInRefusal("This sign-in was not started in this browser, or has expired. Start again.")
    return attempts.attempt_of(token)


def _sign_in(request: HttpRequest, provider: IdentityProvider, claims: Claims, next_url: str) -> HttpResponse:
    before = request.user if isinstance(request.user, User) else None
    user = person_of(provider=provider, claims=claims, signed_in_as=before)
    if before is not None and before != user:
        logout(request)
    record_authentication(
        request,
        user,
        method=METHOD,
        provider=str(provider.public_id),
        type=f"single sign-on {provider.name}",
        has_second_factor=claims.has_second_factor,
    )
    if not next_url and provider.account is not None:
        next_url = reverse("overview", args=[provider.account.slug])
    response: HttpResponse = perform_login(
        request, Login(user=user, redirect_url=next_url or None, email=user.email)
    )
    return response


def _refuse(request: HttpRequest, provider: IdentityProvider | None, error: UserError) -> HttpResponse:
    """Show a refused sign-in: 403, or 502 if the provider does not answer. Recorded in the operator log and the
    account's audit log."""
    record(user=None, kind=SecurityEvent.Kind.FAIL_SIGN_IN, request=request, detail=error.message)
    if provider is not None and provider.account is not None:
        audit.record(
            account=provider.account,
            actor=Actor(label="Not signed in"),
            action="identity_provider.refuse",
            target=provider.name,
            detail={"reason": error.message[:300]},
        )
    status = 403 if isinstance(error, SignInRefusal) else 502
    context = {"message": error.message, "provider": provider}
    return render(request, "accounts/sso/refused.html", context, status=status)
