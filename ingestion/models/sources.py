"""Usage sources, and the keys that push to them."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from accounts.scoping import AccountModel
from finops.lib import clock
from finops.lib.constraints import not_empty


class UsageSource(AccountModel):
    """A source of usage events: pushed with its own key, or pulled with a vendor's credential."""

    class Kind(models.TextChoices):
        PUSH = "push", "Push/API"
        PULL = "pull", "Pull from a vendor"

    name = models.CharField(max_length=100, error_messages={"blank": "Enter a name."})
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.PUSH)
    customer_attribute = models.CharField(
        max_length=255,
        blank=True,
        help_text="Attribute of OpenTelemetry metrics that names the customer. Default: the first of "
        "customer.id, customer_id, tenant.id, organization.id, user.id.",
    )
    event_id_field = models.CharField(
        max_length=100,
        blank=True,
        db_default="",
        help_text="Field of events whose value is their event_id.",
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "name"],
                name="usage_source_name_unique",
                violation_error_message="A usage source with this name already exists.",
            ),
            not_empty("name", name="usage_source_has_a_name", message="Enter a name."),
            models.CheckConstraint(
                condition=models.Q(kind__in=["push", "pull"]), name="usage_source_kind_is_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class UsageKey(AccountModel):
    """The key of a push source. Only its hash is stored; a source has at most one active key."""

    source = models.ForeignKey(UsageSource, on_delete=models.CASCADE, related_name="keys")
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
        verbose_name = "usage ingestion key"
        constraints = [
            models.UniqueConstraint(
                fields=["source"],
                condition=models.Q(revoked_at__isnull=True),
                name="usage_key_one_living_key_a_source",
                violation_error_message="The source has a key already; regenerate it instead.",
            )
        ]

    def __str__(self) -> str:
        return self.masked_key

    @property
    def masked_key(self) -> str:
        """Return the part of the key that may be shown after generation: the type prefix, the lookup part, dots."""
        return f"fuse_{self.lookup}{'•' * 8}"
