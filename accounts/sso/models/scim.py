"""Users and groups that an identity provider provisions by SCIM 2.0, and the tokens for it."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models.functions import Lower

from accounts.scoping import AccountModel
from accounts.sso.models.providers import IdentityProvider
from finops.lib import clock
from finops.lib.constraints import not_empty


class ScimToken(AccountModel):
    """A bearer token of a provider. Two may be valid at once, so that one can replace the other without a gap."""

    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="scim_tokens")
    lookup = models.CharField(max_length=12, unique=True, editable=False)
    digest = models.BinaryField(max_length=32, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_by_label = models.CharField(max_length=254, editable=False)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["-created_at", "-id"]
        verbose_name = "SCIM token"

    def __str__(self) -> str:
        return self.masked_token

    @property
    def masked_token(self) -> str:
        """The part that may be shown after creation: the prefix, the lookup part, dots."""
        return f"fscm_{self.lookup}{'•' * 8}"


class ScimUser(AccountModel):
    """A person as the provider describes her. Active means being a member of the account; no column stores it."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="scim_users")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    user_name = models.CharField(max_length=255)
    external_id = models.CharField(max_length=255, blank=True)
    display_name = models.CharField(max_length=255, blank=True)
    formatted_name = models.CharField(max_length=255, blank=True)
    given_name = models.CharField(max_length=255, blank=True)
    family_name = models.CharField(max_length=255, blank=True)
    emails: models.JSONField[list[dict[str, Any]], list[dict[str, Any]]] = models.JSONField(
        default=list, blank=True, help_text="[{value, type, primary}], as received from the provider."
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)
    updated_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["id"]
        verbose_name = "SCIM user"
        indexes = [models.Index(fields=["provider", "external_id"], name="scim_user_external_id")]
        constraints = [
            models.UniqueConstraint(
                "provider",
                Lower("user_name"),
                name="scim_user_name_unique",
                violation_error_message="A user with this userName already exists.",
            ),
            models.UniqueConstraint(
                fields=["provider", "user"],
                name="scim_user_once_a_person",
                violation_error_message="A user with this email address already exists.",
            ),
            not_empty("user_name", name="scim_user_has_a_name", message="Send a userName."),
        ]

    def __str__(self) -> str:
        return self.user_name


class ScimGroup(AccountModel):
    """A group of the provider. GroupMapping gives its members a role and a team by the group's name."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    provider = models.ForeignKey(IdentityProvider, on_delete=models.CASCADE, related_name="scim_groups")
    display_name = models.CharField(max_length=255)
    external_id = models.CharField(max_length=255, blank=True)
    members: models.ManyToManyField[ScimUser, Any] = models.ManyToManyField(
        ScimUser, through="ScimGroupMember", related_name="groups"
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)
    updated_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["id"]
        verbose_name = "SCIM group"
        constraints = [
            models.UniqueConstraint(
                "provider",
                Lower("display_name"),
                name="scim_group_name_unique",
                violation_error_message="A group with this displayName already exists.",
            ),
            not_empty("display_name", name="scim_group_has_a_name", message="Send a displayName."),
        ]

    def __str__(self) -> str:
        return self.display_name


class ScimGroupMember(AccountModel):
    """The membership of a user in a group."""

    group = models.ForeignKey(ScimGroup, on_delete=models.CASCADE, related_name="memberships")
    member = models.ForeignKey(ScimUser, on_delete=models.CASCADE, related_name="memberships")

    class Meta:
        verbose_name = "SCIM group member"
        constraints = [
            models.UniqueConstraint(fields=["group", "member"], name="scim_group_member_once"),
        ]
