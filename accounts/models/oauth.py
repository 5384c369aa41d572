"""django-oauth-toolkit's models, swapped so that each belongs to the connection it was issued for.

The library queries its own models through `objects`, so those are not account-owned in the sense of accounts.scoping; the
code that resolves a token puts the account of its connection in scope.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, transaction
from oauth2_provider.models import (
    AbstractAccessToken,
    AbstractApplication,
    AbstractDeviceGrant,
    AbstractGrant,
    AbstractIDToken,
    AbstractRefreshToken,
)

from accounts.oauth import redirects
from accounts.scoping import AccountModel
from finops.lib import clock
from finops.lib.constraints import not_empty, unique_in_account


class OAuthApplication(AbstractApplication):
    """A client that people connect: an assistant, by registration or by its metadata document.

    `fingerprint` of a public registration is the same for the same metadata, so that a client that registers each
    time it starts is one row; empty for every other client.
    """

    fingerprint = models.CharField(max_length=64, blank=True, default="", editable=False)
    last_consent_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta(AbstractApplication.Meta):
        abstract = False
        verbose_name = "OAuth application"
        constraints = [
            models.UniqueConstraint(
                fields=["fingerprint"],
                condition=~models.Q(fingerprint=""),
                name="oauth_registration_once",
            )
        ]

    def get_allowed_schemes(self) -> list[str]:
        """Return the schemes of its redirects, which were checked when it was registered."""
        return [urlsplit(uri).scheme for uri in self.redirect_uris.split()]

    def clean(self) -> None:
        """Check the redirects. The library accepts any http redirect; unencrypted codes are safe on the person's own
        machine only.

        Raises ValidationError for a redirect that could leak a code.
        """
        super().clean()
        for uri in self.redirect_uris.split():
            try:
                redirects.check(uri)
            except redirects.UnsafeRedirectUri as refused:
                raise ValidationError({"redirect_uris": f"{uri[:80]}: {refused}."}) from refused


class OAuthConnection(AccountModel):
    """A person's permission for a client to work in an account, and its scope. Deleted with the membership.

    Without a person, the permission belongs to a service account, whose client works for the account itself. Codes
    and tokens belong to the connection and have no rights of their own: deleting it ends them all, at once. `access`
    is the most that the person consented to; a token may never do more than that or than the person's role.
    """

    class Access(models.TextChoices):
        READ = "read", "Read"
        READ_WRITE = "read_write", "Read/write"

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="oauth_connections",
    )
    application = models.ForeignKey(OAuthApplication, on_delete=models.CASCADE, related_name="connections")
    access = models.CharField(max_length=10, choices=Access.choices, default=Access.READ)
    redirect_uri = models.TextField(blank=True, editable=False)
    session_had_factor = models.BooleanField(
        default=False,
        editable=False,
        help_text="Whether the consent was given in a session with a second factor.",
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_client = models.CharField(max_length=120, blank=True, editable=False)

    class Meta:
        ordering = ["-created_at", "-id"]
        verbose_name = "OAuth connection"
        indexes = [models.Index(fields=["account", "user"], name="oauth_connection_of_member")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(access__in=["read", "read_write"]), name="oauth_connection_access_is_known"
            )
        ]

    def __str__(self) -> str:
        return f"connection {self.pk} of {self.application_id}"

    @property
    def holder(self) -> str:
        """The person's email, or the service account by its name: for logs."""
        return self.user.email if self.user else f"service account {self.application.name}"


class ServiceAccount(AccountModel):
    """A program of an account that gets access tokens without a person (RFC 6749, 4.4): by a secret, or by a JWT that
    it signs (RFC 7523) if it has keys or a JWKS URL.

    Its connection has the access, the client and the tokens; deleting the client deletes everything. A service
    account outlives the person who created it.
    """

    connection = models.OneToOneField(
        OAuthConnection, on_delete=models.CASCADE, related_name="service_account", editable=False
    )
    name = models.CharField(max_length=100, error_messages={"blank": "Enter a name."})
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_by_label = models.CharField(max_length=254, editable=False)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    rotated_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="When the secret or key was last replaced."
    )
    public_keys: models.JSONField[list[Any], list[Any]] = models.JSONField(
        default=list, blank=True, editable=False, help_text="Public keys of the service account (JWK)."
    )
    jwks_url = models.CharField(max_length=500, blank=True, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(jwks_url="") | models.Q(public_keys=[]),
                name="service_account_has_keys_or_url",
                violation_error_message="Enter keys or a JWKS URL, not both.",
            ),
            not_empty("name", name="service_account_has_a_name", message="Enter a name."),
            unique_in_account(
                "name", name="service_account_name_unique", message="Another service account has this name."
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= clock.now()

    @property
    def has_keys(self) -> bool:
        """Whether the service account signs JWTs and has no secret."""
        return bool(self.public_keys or self.jwks_url)


class UsedAssertion(models.Model):
    """Base of signed assertions that were used, stored to refuse a replay. Deleted after `expires_at`. Subclasses add
    the owner and a unique constraint of owner and digest."""

    assertion_digest = models.BinaryField()
    expires_at: models.DateTimeField[datetime, datetime] = models.DateTimeField(db_index=True)

    class Meta:
        abstract = True

    @classmethod
    def use_once(cls, *, identifier: str, expires_at: datetime, **owner: models.Model) -> bool:
        """Store the identifier (`jti`, or `ID` of SAML) of an assertion of the owner. Return False if it is stored
        already."""
        digest = hashlib.sha256(identifier.encode("utf-8", "surrogatepass")).digest()
        try:
            with transaction.atomic():
                cls._default_manager.create(assertion_digest=digest, expires_at=expires_at, **owner)
        except IntegrityError:
            return False
        return True


class ClientAssertion(UsedAssertion):
    """A JWT that a client authenticated with (RFC 7523, 3)."""

    application = models.ForeignKey(OAuthApplication, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["application", "assertion_digest"], name="client_assertion_used_once"
            )
        ]


class OfConnection(models.Model):
    """Base of codes and tokens: objects that are issued for a connection and end with it."""

    connection = models.ForeignKey(OAuthConnection, on_delete=models.CASCADE, related_name="+")

    class Meta:
        abstract = True


class OAuthGrant(OfConnection, AbstractGrant):
    """An authorization code. `code` holds its SHA-256; a used code stays, to detect a replay."""

    used_at = models.DateTimeField(null=True, blank=True)

    class Meta(AbstractGrant.Meta):
        abstract = False
        verbose_name = "OAuth grant"


class OAuthAccessToken(OfConnection, AbstractAccessToken):
    class Meta(AbstractAccessToken.Meta):
        abstract = False
        verbose_name = "OAuth access token"


class OAuthRefreshToken(OfConnection, AbstractRefreshToken):
    """A refresh token. `revoked` is when it was rotated. For a short time after, `replay_salt` gives its successor again."""

    replay_salt = models.BinaryField(max_length=32, null=True, editable=False)

    class Meta(AbstractRefreshToken.Meta):
        abstract = False
        verbose_name = "OAuth refresh token"
        constraints = [models.UniqueConstraint(fields=["token_checksum"], name="oauth_refresh_token_once")]


class OAuthIDToken(AbstractIDToken):
    class Meta(AbstractIDToken.Meta):
        abstract = False
        verbose_name = "OAuth ID token"


class OAuthDeviceGrant(AbstractDeviceGrant):
    class Meta(AbstractDeviceGrant.Meta):
        abstract = False
        verbose_name = "OAuth device grant"
