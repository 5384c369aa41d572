"""django-oauth-toolkit's models, swapped so that each carries the account and the access it was granted for.

The library queries these through `objects`, so they are not account-owned in the sense of accounts.scoping; the
door that resolves a token puts the account in scope.
"""

from __future__ import annotations

from django.db import models
from oauth2_provider.models import (
    AbstractAccessToken,
    AbstractApplication,
    AbstractDeviceGrant,
    AbstractGrant,
    AbstractIDToken,
    AbstractRefreshToken,
)


class CarriesAccount(models.Model):
    """Which account, and how much of it, the person consented to."""

    account = models.ForeignKey(
        "accounts.Account", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    access = models.CharField(
        max_length=10, choices=[("read", "Read"), ("read_write", "Read/write")], default="read"
    )

    class Meta:
        abstract = True


class OAuthApplication(AbstractApplication):
    """A client that people connect: an assistant, by registration or by its metadata document."""

    class Meta(AbstractApplication.Meta):
        abstract = False
        verbose_name = "OAuth application"


class OAuthGrant(CarriesAccount, AbstractGrant):
    """An authorization code on its way to a token."""

    class Meta(AbstractGrant.Meta):
        abstract = False
        verbose_name = "OAuth grant"


class OAuthAccessToken(CarriesAccount, AbstractAccessToken):
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta(AbstractAccessToken.Meta):
        abstract = False
        verbose_name = "OAuth access token"


class OAuthRefreshToken(CarriesAccount, AbstractRefreshToken):
    class Meta(AbstractRefreshToken.Meta):
        abstract = False
        verbose_name = "OAuth refresh token"


class OAuthIDToken(AbstractIDToken):
    class Meta(AbstractIDToken.Meta):
        abstract = False
        verbose_name = "OAuth ID token"


class OAuthDeviceGrant(AbstractDeviceGrant):
    class Meta(AbstractDeviceGrant.Meta):
        abstract = False
        verbose_name = "OAuth device grant"
