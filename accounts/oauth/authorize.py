"""/oauth/authorize: the authorization request, the consent page, and the redirect back to the client.

The request is read from the URL only and validated again on POST. The form adds an account, an access and a limit;
all other form data is ignored. Consent is required each time; no parameter or flag skips it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import quote, unquote_plus, urlencode, urlsplit, urlunsplit

from django import forms
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from oauth2_provider.cimd import is_cimd_client_id
from oauth2_provider.exceptions import FatalClientError, OAuthToolkitError
from oauth2_provider.http import OAuth2ResponseRedirect
from oauth2_provider.views.base import BaseAuthorizationView
from oauthlib.oauth2.rfc6749 import errors

from accounts.models import Account, Membership, OAuthApplication, OAuthConnection, Role, User
from accounts.oauth.clients import host_of_client
from accounts.oauth.error_text import DESCRIPTIONS, PKCE, REWORDED
from accounts.oauth.provider import WRITE_SCOPE
from accounts.oauth.redirects import host_of, is_on_this_device, origin_for_csp
from accounts.oauth.resource import is_ours, issuer, resource
from accounts.oauth.services import open_connection
from accounts.reader_limits import FIELD, add_own_limit_field
from accounts.security.reauthentication import is_recently_authenticated, reauthenticate_and_return
from finops.lib.errors import UserError

LABELS = {
    OAuthConnection.Access.READ: "Read only",
    OAuthConnection.Access.READ_WRITE: "Read and write",
}


_ADDRESS_ERRORS = (
    errors.InvalidRedirectURIError,
    errors.MismatchingRedirectURIError,
    errors.MissingRedirectURIError,
)
"""Errors about the redirect URI, which oauthlib checks after the client."""


class ConsentForm(forms.Form):
    """The consent form. `account` is an account of the person; `access` is at most what the client requested and the
    person's role allows; `limit` is a limit of that account, where the person may choose one."""

    account = forms.ChoiceField(widget=forms.RadioSelect, label="Account")
    access = forms.ChoiceField(widget=forms.RadioSelect, label="Access", required=False)

    def __init__(
        self,
        user: User,
        application: OAuthApplication,
        accesses: list[str],
        data: Mapping[str, Any] | None = None,
        *,
        initial: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(data, initial=initial)
        self.memberships = list(
            Membership.objects.filter(user=user).select_related("account").order_by("account__name", "pk")
        )
        self.fields["account"].choices = [  # type: ignore[attr-defined]
            (membership.account.slug, membership.account.name) for membership in self.memberships
        ]
        self.fields["account"].initial = self._last_account(user, application)
        self.fields["access"].choices = [(value, LABELS[value]) for value in accesses]  # type: ignore[attr-defined, index]
        self.fields["access"].initial = OAuthConnection.Access.READ.value
        self._limits = add_own_limit_field(self, self.memberships)

    def _last_account(self, user: User, application: OAuthApplication) -> str:
        """Return the account that the client was last connected to: a client that requests more access usually means
        the same account."""
        before = (
            OAuthConnection.objects.unscoped()  # the person's own, wherever she is a member
            .filter(user=user, application=application, account__memberships__user=user)
            .order_by("-created_at", "-pk")
            .values_list("account__slug", flat=True)
            .first()
        )
        return before or (self.memberships[0].account.slug if self.memberships else "")

    def clean_account(self) -> Account:
        slug = self.cleaned_data["account"]
        return next(row.account for row in self.memberships if row.account.slug == slug)

    def clean_access(self) -> str:
        return self.cleaned_data["access"] or OAuthConnection.Access.READ.value

    def clean(self) -> dict[str, Any]:
        """Raises ValidationError if the client would write in an account where the person is a viewer, or for a limit
        of another account."""
        cleaned: dict[str, Any] = super().clean() or {}
        account, access = cleaned.get("account"), cleaned.get("access")
        role = next((row for row in self.memberships if account is not None and row.account == account), None)
        if role and access == OAuthConnection.Access.READ_WRITE and not role.may(Role.MEMBER):
            problem = f"You are a viewer of {role.account.name}. Choose read access, or another account."
            raise ValidationError({"access": problem})
        limit = cleaned.get(FIELD)
        if account is not None and limit and limit not in dict(self._limits.get(account.pk, [])):
            raise ValidationError({FIELD: f"Choose a limit of {account.name}, or all cost."})
        return cleaned


_CHOICE = "oauth_consent_choice"
"""Session key of the form's values while the person authenticates again. The form shows them afterwards; consent
still needs a click."""
_S256 = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclasses.dataclass(frozen=True)
class AuthorizationRequest:
    """A valid authorization request, ready for the consent page."""

    application: OAuthApplication
    redirect_uri: str
    state: str | None
    code_challenge: str
    writes: bool

    @property
    def client_host(self) -> str:
        return host_of_client(self.application, self.redirect_uri)

    @property
    def accesses(self) -> list[str]:
        choice = OAuthConnection.Access
        return [choice.READ, choice.READ_WRITE] if self.writes else [choice.READ]


class AuthorizeView(BaseAuthorizationView):
    """Show the consent page on GET; on POST (`decision` allow or deny, `account`, `access`, `limit`) redirect to the
    client. Allowing write access requires a recent authentication, as an MCP key with write access does.

    Context of templates/oauth/consent.html:
      application   OAuthApplication; `application.name` is the client's own name: unverified, never shown without the host
      client_host   host that vouches for the client; "" for a program on the person's own computer
      verified      True when the client is known by its metadata document at client_host
      redirect_uri, redirect_host   target of the redirect; no host for an app's private scheme
      loopback      True when that is the person's own device (warn: any program there can pose as the client)
      form          ConsentForm: account (radio, values are slugs), access (radio, `read` preselected), limit (where there are any)
      memberships   list of the person's Memberships, `.account` attached; empty: she must create an account first
      writes        True when the client requested read/write, so that access is a choice
    Context of templates/oauth/error.html: `error` (oauthlib's; `.error`, `.description`), without a link back, and
      is_client_known   True when only the redirect URI is wrong
    """

    http_method_names = ["get", "head", "post"]

    def get(self, request: HttpRequest) -> HttpResponse:
        try:
            auth_request = self._parse_request()
            if "none" in request.GET.get("prompt", "").split():
                raise _refusal(auth_request, "consent_required", "Requires confirmation each time.")
        except OAuthToolkitError as error:
            return self.error_response(error, application=None)
        saved_choice = request.session.pop(_CHOICE, {})
        initial = saved_choice["form"] if saved_choice.get("url") == request.get_full_path() else None
        return self._page(
            auth_request,
            ConsentForm(self._person, auth_request.application, auth_request.accesses, initial=initial),
        )

    def post(self, request: HttpRequest) -> HttpResponse:
        try:
            auth_request = self._parse_request()
            if request.POST.get("decision") != "allow":
                raise _refusal(auth_request, "access_denied", "The person declined.")
        except OAuthToolkitError as error:
            return self.error_response(error, application=None)
        form = ConsentForm(self._person, auth_request.application, auth_request.accesses, request.POST)
        if not form.is_valid():
            return self._page(auth_request, form)
        if form.cleaned_data["access"] == OAuthConnection.Access.READ_WRITE and not is_recently_authenticated(
            request
        ):
            choice = {**form.cleaned_data, "account": form.cleaned_data["account"].slug}
            request.session[_CHOICE] = {"url": request.get_full_path(), "form": choice}
            return reauthenticate_and_return(request)
        try:
            return self.redirect(self._allow(auth_request, form), auth_request.application)
        except UserError as error:
            form.add_error(error.field or None, error.message)
            return self._page(auth_request, form)

    def handle_no_permission(self) -> HttpResponse:
        """Redirect to the sign-in page, unless the request is invalid or has `prompt=none`.

        An invalid request is refused before the sign-in, because Chromium would not follow a redirect to the client
        after the sign-in form. An unknown metadata document is fetched only for a person who is signed in.
        """
        silent = "none" in self.request.GET.get("prompt", "").split()
        try:
            auth_request = self._parse_request()
            if silent:
                raise _refusal(auth_request, "login_required", "Not signed in.")
        except OAuthToolkitError as error:
            unknown = isinstance(error, FatalClientError) and is_cimd_client_id(
                self.request.GET.get("client_id")
            )
            if silent or not unknown:
                return self.error_response(error, application=None)
        return redirect_to_login(self.request.get_full_path())

    @property
    def _person(self) -> User:
        """The signed-in person; `dispatch` refuses everybody else first."""
        return cast(User, self.request.user)

    def _parse_request(self) -> AuthorizationRequest:
        """Raises FatalClientError for errors that must not redirect, OAuthToolkitError for errors that are sent to
        the client."""
        core = self.get_oauthlib_core()
        # The validator fetches documents for GET only. HEAD prevents a fetch for a visitor who is not signed in.
        method = "GET" if self.request.user.is_authenticated else "HEAD"
        try:
            scopes, credentials = core.server.validate_authorization_request(
                self._uri(), http_method=method, headers=core.extract_headers(self.request)
            )
        except errors.FatalClientError as error:
            raise FatalClientError(error=error) from error
        except errors.OAuth2Error as error:
            raise OAuthToolkitError(error=error) from error
        auth_request = AuthorizationRequest(
            application=credentials["request"].client,
            redirect_uri=credentials["redirect_uri"],
            state=credentials["state"],
            code_challenge=credentials.get("code_challenge", ""),
            writes=WRITE_SCOPE in scopes,
        )
        self._check(auth_request, credentials.get("code_challenge_method"))
        return auth_request

    def _check(self, auth_request: AuthorizationRequest, method: str | None) -> None:
        repeated = [key for key, values in self.request.GET.lists() if len(values) > 1 and key != "resource"]
        if repeated:  # RFC 6749, 3.1; oauthlib checks five parameters only
            raise _refusal(auth_request, "invalid_request", "Duplicate parameter.")
        if method != "S256" or not _S256.fullmatch(auth_request.code_challenge):
            raise _refusal(auth_request, "invalid_request", PKCE)
        if not all(is_ours(uri) for uri in self.request.GET.getlist("resource") if uri):
            raise _refusal(auth_request, "invalid_target", f"Send resource={resource()}, or leave it out.")

    def _uri(self) -> str:
        """Return the request's query in a spelling that oauthlib can parse; oauthlib raises ValueError for a stray %
        or quote."""
        pairs = [(key, value) for key, values in self.request.GET.lists() for value in values]
        return f"{self.request.path}?{urlencode(pairs)}" if pairs else str(self.request.path)

    @transaction.atomic
    def _allow(self, auth_request: AuthorizationRequest, form: ConsentForm) -> str:
        connection = open_connection(
            user=self._person,
            account=form.cleaned_data["account"],
            application=auth_request.application,
            access=form.cleaned_data["access"],
            redirect_uri=auth_request.redirect_uri,
            request=self.request,
            limit=form.cleaned_data.get(FIELD, ""),
        )
        core = self.get_oauthlib_core()
        headers, _body, _status = core.server.create_authorization_response(
            uri=self._uri(),
            http_method="GET",
            headers=core.extract_headers(self.request),
            scopes=[],
            credentials={
                "client_id": auth_request.application.client_id,
                "client": auth_request.application,
                "redirect_uri": auth_request.redirect_uri,
                "response_type": "code",
                "response_mode": "query",
                "state": auth_request.state,
                "code_challenge": auth_request.code_challenge,
                "code_challenge_method": "S256",
                "user": self._person,
                "connection": connection,
            },
        )
        return str(headers["Location"])

    def _page(self, auth_request: AuthorizationRequest, form: ConsentForm) -> HttpResponse:
        source = OAuthApplication.RegistrationSource
        context = {
            "application": auth_request.application,
            "client_host": auth_request.client_host,
            "verified": auth_request.application.registration_source == source.CIMD,
            "redirect_uri": auth_request.redirect_uri,
            "redirect_host": host_of(auth_request.redirect_uri),
            "loopback": is_on_this_device(auth_request.redirect_uri),
            "form": form,
            "memberships": form.memberships,
            "writes": auth_request.writes,
        }
        response = render(self.request, "oauth/consent.html", context, status=422 if form.errors else 200)
        # Chromium checks form-action for the redirect after the form too, so this page allows this one host.
        setattr(response, "_csp_update", {"form-action": [origin_for_csp(auth_request.redirect_uri)]})  # noqa: B010
        return response

    def error_response(self, error: OAuthToolkitError, application: Any, **kwargs: Any) -> HttpResponse:
        oauth_error = error.oauthlib_error
        description = oauth_error.description or DESCRIPTIONS.get(oauth_error.error, "")
        oauth_error.description = REWORDED.get(description, description)
        if isinstance(error, FatalClientError) or not oauth_error.redirect_uri:
            context = {
                "error": oauth_error,
                "is_client_known": isinstance(oauth_error, _ADDRESS_ERRORS),
            }
            return render(self.request, "oauth/error.html", context, status=400)
        joint = "&" if "?" in oauth_error.redirect_uri else "?"
        return self.redirect(f"{oauth_error.redirect_uri}{joint}{oauth_error.urlencoded}", application)

    def redirect(self, redirect_to: str, application: Any) -> HttpResponse:
        """Add the issuer to every redirect (RFC 9207), so that a client with two servers can tell their responses
        apart."""
        parts = urlsplit(redirect_to)
        pairs = [
            pair for pair in parts.query.split("&") if pair and unquote_plus(pair.split("=")[0]) != "iss"
        ]
        query = "&".join([*pairs, f"iss={quote(issuer(), safe='')}"])
        response: HttpResponse = OAuth2ResponseRedirect(
            urlunsplit(parts._replace(query=query)), [parts.scheme]
        )
        return response


def _refusal(auth_request: AuthorizationRequest, code: str, description: str) -> OAuthToolkitError:
    error = errors.CustomOAuth2Error(error=code, description=description, state=auth_request.state)
    return OAuthToolkitError(error=error, redirect_uri=auth_request.redirect_uri)
