"""Identity providers, the email domains that they vouch for, and the people they signed in."""

from __future__ import annotations

import uuid
from datetime import datetime

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from accounts.models import OAuthApplication, OAuthConnection, Role, UsedAssertion
from accounts.scoping import AccountModel
from finops.lib import clock
from finops.lib.constraints import not_empty, unique_in_account


class IdentityProvider(models.Model):
    """An identity provider through which people sign in: of one account, or of the whole service if it has no
    account."""

    class Protocol(models.TextChoices):
        OIDC = "oidc", "OpenID Connect"
        SAML = "saml", "SAML 2.0"

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    account = models.ForeignKey(
        "accounts.Account", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    protocol = models.CharField(max_length=4, choices=Protocol.choices)
    name = models.CharField(max_length=100, error_messages={"blank": "Enter a name."})
    issuer = models.CharField(
        max_length=500, help_text="OpenID Connect: the issuer URL. SAML: the entity ID of the provider."
    )
    client_id = models.CharField(max_length=300, blank=True)
    sealed_client_secret = models.TextField(blank=True, help_text="finops.lib.sealing")
    sign_on_url = models.CharField(
        max_length=1000, blank=True, help_text="SAML: sign-on URL (HTTP-Redirect)."
    )
    certificates = models.TextField(
        blank=True, help_text="SAML: X.509 certificates that sign assertions, PEM."
    )
    groups_attribute = models.CharField(
        max_length=200, default="groups", blank=True, help_text="Claim or attribute with the groups."
    )
    default_role = models.CharField(
        max_length=10,
        choices=Role.below_owner(),
        default=Role.VIEWER,
        help_text="Role of people without a group mapping.",
    )
    creates_people = models.BooleanField(
        default=True, help_text="Whether the first sign-in adds a person as a member."
    )
    requires_factor_claim = models.BooleanField(
        default=False,
        help_text="Whether a sign-in counts as two factors only if the provider confirms a second factor.",
    )
    has_own_redirect_uri = models.BooleanField(
        default=True,
        help_text="OpenID Connect: whether the provider has its own redirect URI instead of the shared one.",
    )
    is_enforced = models.BooleanField(
        default=False, help_text="Whether people of its domains must sign in with this provider."
    )
    disabled_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Sign-in is off; domains stay assigned."
    )
    used_at = models.DateTimeField(null=True, blank=True, editable=False, help_text="Last sign-in.")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(
                "account",
                Lower("name"),
                name="identity_provider_name_unique",
                nulls_distinct=False,
                violation_error_message="An identity provider with this name already exists.",
            ),
            models.UniqueConstraint(
                fields=["account"],
                condition=Q(is_enforced=True),
                name="identity_provider_one_enforced",
                violation_error_message="Another identity provider of the account is enforced.",
            ),
            not_empty("name", name="identity_provider_has_a_name", message="Enter a name."),
            not_empty("issuer", name="identity_provider_has_an_issuer", message="Enter the issuer."),
            models.CheckConstraint(
                condition=~Q(default_role=Role.OWNER),
                name="identity_provider_makes_no_owner",
                violation_error_message="Ownership is transferred in Settings → Account.",
            ),
            models.CheckConstraint(
                condition=Q(disabled_at__isnull=True) | Q(account__isnull=True),
                name="identity_provider_disabled_is_of_the_service",
                violation_error_message="Only a provider of the whole service can be disabled.",
            ),
            models.CheckConstraint(
                condition=(Q(protocol="oidc") & ~Q(client_id=""))
                | (Q(protocol="saml") & ~Q(sign_on_url="") & ~Q(certificates="")),
                name="identity_provider_is_complete",
                violation_error_message="Enter what the protocol needs: client ID, or sign-on URL and certificate.",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class EmailDomain(models.Model):
    """An email domain that a provider vouches for once it is verified. A verified domain belongs to one provider."""

    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="domains")
    domain = models.CharField(max_length=253)
    record = models.CharField(max_length=100, help_text="TXT record that proves ownership of the domain.")
    verified_at = models.DateTimeField(null=True, blank=True)
    confirmed_by = models.CharField(
        max_length=254, blank=True, help_text="Operator who verified the domain; blank: verified by DNS."
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["domain"]
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "domain"],
                name="sso_domain_once_a_provider",
                violation_error_message="This domain is already in the list.",
            ),
            models.UniqueConstraint(
                fields=["domain"],
                condition=Q(verified_at__isnull=False),
                name="sso_domain_has_one_owner",
                violation_error_message="This domain is already verified for another identity provider.",
            ),
            models.CheckConstraint(
                condition=Q(domain=Lower("domain")) & ~Q(domain=""),
                name="sso_domain_is_lower_case",
                violation_error_message="Enter a domain, such as example.com.",
            ),
        ]

    def __str__(self) -> str:
        return self.domain


class GroupMapping(AccountModel):
    """The role, the team, or both that members of a provider's group have in the account. Applies to SCIM groups too."""

    group = models.CharField(max_length=255, error_messages={"blank": "Enter the group."})
    role = models.CharField(max_length=10, choices=Role.below_owner(), blank=True)
    team_id = models.BigIntegerField(
        null=True, blank=True, help_text="ID of a team; the team may have been deleted."
    )

    class Meta:
        ordering = ["group"]
        constraints = [
            unique_in_account(
                "group", name="group_mapping_unique", message="This group already has a mapping."
            ),
            not_empty("group", name="group_mapping_has_a_group", message="Enter the group."),
            models.CheckConstraint(
                condition=~Q(role=Role.OWNER),
                name="group_mapping_makes_no_owner",
                violation_error_message="Ownership is transferred in Settings → Account.",
            ),
            models.CheckConstraint(
                condition=~Q(role="") | Q(team_id__isnull=False),
                name="group_mapping_has_a_target",
                violation_error_message="Choose a role, a team, or both.",
            ),
        ]

    def __str__(self) -> str:
        return self.group


class Identity(models.Model):
    """A person at a provider, identified by the provider's subject and never by the email."""

    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="identities")
    subject = models.CharField(max_length=255)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="identities")
    created_at = models.DateTimeField(default=clock.now, editable=False)
    used_at = models.DateTimeField(default=clock.now)

    class Meta:
        verbose_name_plural = "identities"
        constraints = [
            models.UniqueConstraint(fields=["provider", "subject"], name="identity_subject_unique"),
            models.UniqueConstraint(fields=["provider", "user"], name="identity_once_a_person"),
            not_empty("subject", name="identity_has_a_subject"),
        ]


class SignInAttempt(models.Model):
    """A browser's sign-in at a provider. It can be used once and expires within minutes."""

    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="+")
    token_digest = models.BinaryField(unique=True)
    sealed_state = models.TextField(help_text="Nonce and verifier, or request ID, encrypted.")
    next_url = models.CharField(max_length=2000, blank=True)
    sealed_identity = models.TextField(
        blank=True, help_text="SAML: subject of the response until the browser follows the redirect."
    )
    expires_at: models.DateTimeField[datetime, datetime] = models.DateTimeField(db_index=True)


class SamlAssertion(UsedAssertion):
    """A used SAML assertion."""

    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "assertion_digest"], name="assertion_used_once")
        ]


class AssertionClient(models.Model):
    """An MCP client that gets tokens for people by the provider's signed assertion, without a consent page (ID-JAG,
    ADR 0104). Deleted with its OAuth client."""

    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="assertion_clients")
    application = models.OneToOneField(
        OAuthApplication, on_delete=models.CASCADE, related_name="assertion_client", editable=False
    )
    name = models.CharField(max_length=100, error_messages={"blank": "Enter a name."})
    account = models.ForeignKey(
        "accounts.Account",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
        help_text="Of a provider of the whole service: the account of its tokens; empty: the person's only one.",
    )
    access = models.CharField(
        max_length=10,
        choices=OAuthConnection.Access.choices,
        default=OAuthConnection.Access.READ,
        help_text="Maximum access of its tokens.",
    )
    created_by_label = models.CharField(max_length=254, editable=False)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["name", "pk"]
        constraints = [
            models.UniqueConstraint(
                "provider",
                Lower("name"),
                name="assertion_client_name_unique",
                violation_error_message="Another client has this name.",
            ),
            models.CheckConstraint(
                condition=Q(access__in=["read", "read_write"]), name="assertion_client_access_is_known"
            ),
            not_empty("name", name="assertion_client_has_a_name", message="Enter a name."),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Raises ValidationError for an account other than that of the provider."""
        if self.account_id is not None and self.provider.account_id is not None:
            raise ValidationError({"account": "The provider is of one account already."})


class IdentityAssertion(UsedAssertion):
    """A used identity assertion (ID-JAG)."""

    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "assertion_digest"], name="identity_assertion_used_once"
            )
        ]
