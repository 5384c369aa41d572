"""Forms of Settings → Single sign-on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.core import signing
from django.core.exceptions import ValidationError

from accounts.models import Account, OAuthConnection, Role
from accounts.reader_limits import FIELD, add_limit_field, limit_of_provider
from accounts.sso import oidc
from accounts.sso.models import IdentityProvider
from accounts.sso.services import team_names
from accounts.sso.trust import TRUST_FIELDS
from finops.lib.errors import UserError
from finops.lib.extras import require_extra

OF_MEMBERS = ("groups_attribute", "default_role", "creates_people", "requires_factor_claim")
"""Fields that a provider of the whole service does not have, because it adds no members."""


class _ProviderForm(forms.Form):
    name = forms.CharField(
        max_length=100,
        help_text="On the button: Continue with …",
        error_messages={"required": "Enter a name."},
    )
    groups_attribute = forms.CharField(
        label="Groups",
        max_length=200,
        required=False,
        initial="groups",
        help_text="The claim or attribute that lists a person's groups.",
    )
    default_role = forms.ChoiceField(
        label="Default role",
        choices=Role.below_owner(),
        initial=Role.VIEWER,
        help_text="Role of people whose groups have no role below.",
    )
    creates_people = forms.BooleanField(
        label="Add people at their first sign-in",
        required=False,
        initial=True,
        help_text="Otherwise only members who were invited can sign in.",
    )

    requires_factor_claim = forms.BooleanField(
        label="Require the provider's second factor",
        required=False,
        help_text="For two-factor sign-in: by amr (OpenID Connect) or AuthnContext (SAML). Otherwise each sign-in through the "
        "provider counts as two factors.",
    )

    def __init__(self, provider: IdentityProvider, data: Mapping[str, Any] | None = None) -> None:
        stored = {name: getattr(provider, name, None) for name in self.base_fields}
        super().__init__(data, initial=stored if provider.pk else None)
        if provider.account is None:
            for name in OF_MEMBERS:
                del self.fields[name]
        else:
            add_limit_field(
                self,
                provider.account,
                help_text="Cost visible to members added by sign-in or SCIM. Admins see all cost.",
                initial=limit_of_provider(provider) if provider.pk else "",
            )

    def apply(self, provider: IdentityProvider) -> None:
        """Set the form's values on the provider, except for the secret."""
        for name, value in self.cleaned_data.items():
            if name not in ("client_secret", "metadata", FIELD):
                setattr(provider, name, value)

    def limit(self) -> str | None:
        """The chosen limit; None if the form has no choice of limits."""
        return self.cleaned_data.get(FIELD)

    def secret(self) -> str | None:
        """The new client secret; None to keep the stored one."""
        return self.cleaned_data.get("client_secret") or None


class OidcForm(_ProviderForm):
    draft_id = ""
    """The signed ID of a new provider, which its redirect URI contains."""

    issuer = forms.CharField(
        label="Issuer URL",
        max_length=500,
        widget=forms.URLInput(attrs={"placeholder": "https://example.okta.com"}),
        help_text="Exactly as in the provider's discovery document, with or without the trailing slash.",
        error_messages={"required": "Enter the issuer URL."},
    )
    client_id = forms.CharField(
        label="Client ID", max_length=300, error_messages={"required": "Enter the client ID."}
    )
    client_secret = forms.CharField(
        label="Client secret",
        max_length=500,
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text="Never shown again. Leave it empty to keep the stored one, or for a public client.",
    )

    field_order = (
        "name",
        "issuer",
        "client_id",
        "client_secret",
        *OF_MEMBERS,
    )

    def __init__(self, provider: IdentityProvider, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(provider, data)
        if not provider.pk:
            provider.public_id = _drafted_id(provider, data or {})
            self.draft_id = signing.dumps(str(provider.public_id), salt=_draft_salt(provider))
        if provider.pk and not provider.has_own_redirect_uri:
            self.fields["has_own_redirect_uri"] = forms.BooleanField(
                label="Separate redirect URI",
                required=False,
                help_text=f"Add {oidc.own_redirect_uri(provider)} at the provider first, then remove the shared one there.",
            )


def _drafted_id(provider: IdentityProvider, data: Mapping[str, Any]) -> UUID:
    """Return the ID in the redirect URI that the form showed. It is signed, because a person could otherwise choose
    the ID of a deleted provider, whose redirect URI is still registered."""
    draft = data.get("draft_id", "")
    try:
        return UUID(signing.loads(draft, salt=_draft_salt(provider), max_age=timedelta(days=1)))
    except signing.BadSignature:
        return uuid4()


def _draft_salt(provider: IdentityProvider) -> str:
    return f"identity provider of account {provider.account_id}"


class SamlForm(_ProviderForm):
    metadata = forms.CharField(
        label="Metadata XML",
        required=False,
        max_length=500_000,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text="Paste the provider's metadata, or enter the three fields below.",
    )
    issuer = forms.CharField(label="Entity ID", max_length=500, required=False)
    sign_on_url = forms.CharField(label="Sign-on URL", max_length=1000, required=False)
    certificates = forms.CharField(
        label="Signing certificates",
        required=False,
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 5, "placeholder": "-----BEGIN CERTIFICATE-----"}),
        help_text="PEM, one after the other. Enter both while the provider replaces its certificate.",
    )

    field_order = (
        *("name", "metadata", "issuer", "sign_on_url", "certificates"),
        *OF_MEMBERS,
    )

    def clean(self) -> dict[str, Any]:
        """Fill the three fields from the metadata, if given. Raises ValidationError if one is missing."""
        cleaned = dict(super().clean() or {})
        if metadata := cleaned.get("metadata"):
            try:
                require_extra("SAML")
                from accounts.sso import saml

                cleaned.update(saml.read_metadata(metadata))
            except UserError as error:
                raise ValidationError({"metadata": error.message}) from error
        missing = [name for name in ("issuer", "sign_on_url", "certificates") if not cleaned.get(name)]
        if missing:
            raise ValidationError(dict.fromkeys(missing, "Enter it, or paste the metadata."))
        return cleaned


def provider_form(
    provider: IdentityProvider, data: Mapping[str, Any] | None = None, *, may_change_trust: bool = True
) -> OidcForm | SamlForm:
    """Return the form for the provider's protocol, without the fields of members for a provider of the whole service.
    Fields that this person may not change are read-only."""
    is_oidc = provider.protocol == IdentityProvider.Protocol.OIDC
    form = OidcForm(provider, data) if is_oidc else SamlForm(provider, data)
    if not may_change_trust:
        form.fields.pop("metadata", None)
        for name in TRUST_FIELDS.keys() & form.fields.keys():
            form.fields[name].disabled = True
            form.fields[name].help_text = "Only the owner can change it: the provider has a verified domain."
    return form


class DomainForm(forms.Form):
    domain = forms.CharField(
        label="Email domain",
        max_length=260,
        widget=forms.TextInput(attrs={"placeholder": "example.com", "autocomplete": "off"}),
        error_messages={"required": "Enter a domain, such as example.com."},
    )


class AssertionClientForm(forms.Form):
    prefix = "client"
    name = forms.CharField(
        max_length=100,
        help_text="For example: Claude.",
        error_messages={"required": "Enter a name."},
    )
    access = forms.ChoiceField(
        choices=OAuthConnection.Access.choices,
        initial=OAuthConnection.Access.READ,
        help_text="Maximum access of its tokens. Viewers' tokens are read-only.",
        error_messages={"required": "Choose the access."},
    )


class ServiceClientForm(AssertionClientForm):
    """A client of a provider of the whole service."""

    account = forms.SlugField(
        required=False,
        help_text="The slug of an account, as in its URL. Empty: the only account of each person; people of several accounts "
        "are refused.",
        error_messages={"invalid": "No account has this slug."},
    )

    def clean_account(self) -> Account | None:
        """Return the account of the slug. Raises ValidationError for an unknown one."""
        slug = self.cleaned_data["account"]
        account = Account.objects.filter(slug=slug).first() if slug else None
        if slug and account is None:
            raise forms.ValidationError("No account has this slug.")
        return account


class GroupMappingForm(forms.Form):
    group = forms.CharField(max_length=255, error_messages={"required": "Enter the group."})
    role = forms.ChoiceField(required=False, choices=[("", "No role"), *Role.below_owner()])
    team_id = forms.TypedChoiceField(label="Team", required=False, coerce=int, empty_value=None)

    def __init__(self, *args: Any, account: Account, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = sorted(team_names(account).items(), key=lambda each: each[1].casefold())
        self.fields["team_id"].choices = [("", "No team"), *names]  # type: ignore[attr-defined]
