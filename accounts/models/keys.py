"""Manual MCP keys. Only the hash is stored; see accounts/keys.py for the life of a key."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from accounts.scoping import AccountModel
from finops.lib import clock
from finops.lib.constraints import not_empty


class MCPKey(AccountModel):
    """A key of the account for MCP clients that cannot sign in. It ends with the membership of the person who created
    it, unless it is handed over."""

    class Scope(models.TextChoices):
        READ = "read", "Read"
        READ_WRITE = "read_write", "Read/write"

    name = models.CharField(max_length=100)
    scope = models.CharField(max_length=10, choices=Scope.choices, default=Scope.READ)
    lookup = models.CharField(max_length=12, unique=True, editable=False)
    digest = models.BinaryField(max_length=32, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_by_label = models.CharField(max_length=254, editable=False)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_client = models.CharField(max_length=120, blank=True, editable=False)

    class Meta:
        ordering = ["-created_at", "-id"]
        verbose_name = "MCP key"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(scope__in=["read", "read_write"]), name="mcp_key_scope_is_known"
            ),
            not_empty("name", name="mcp_key_has_a_name", message="Enter a name."),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def masked_key(self) -> str:
        """The part that may be shown after minting: the typed prefix, the lookup part, dots."""
        return f"fmcp_{self.lookup}{'•' * 8}"

    @property
    def state(self) -> str:
        if self.revoked_at:
            return "revoked"
        if self.expires_at and self.expires_at <= clock.now():
            return "expired"
        return "active"
