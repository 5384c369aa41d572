"""The webhook of an account's audit log, and its deliveries."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.models import AuditEntry
from accounts.scoping import AccountModel
from finops.lib import clock


class AuditWebhook(AccountModel):
    """An account's own URL that receives its audit log."""

    target = models.TextField(editable=False, help_text="Encrypted WebhookTarget of finops.alerts.")
    start_at = models.DateTimeField(help_text="Entries are sent from this time on.")
    low_water = models.BigIntegerField(
        default=0, editable=False, help_text="Entries up to this ID are sent or skipped."
    )
    failures = models.PositiveIntegerField(
        default=0, editable=False, help_text="Consecutive failed attempts."
    )
    failing_since = models.DateTimeField(null=True, blank=True, editable=False)
    next_attempt_at = models.DateTimeField(default=clock.now, editable=False)
    paused_at = models.DateTimeField(null=True, blank=True, editable=False)
    pause_reason = models.CharField(max_length=300, blank=True, editable=False)
    last_delivered_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        verbose_name = "audit log webhook"
        constraints = [
            models.UniqueConstraint(
                fields=["account"],
                name="audit_webhook_one_an_account",
                violation_error_message="The account has an audit log webhook already.",
            )
        ]

    def __str__(self) -> str:
        return f"audit log webhook of account {self.account_id}"


class AuditDelivery(AccountModel):
    """A request with up to 100 entries. The next one begins when this one has arrived, so that entries stay in order."""

    class Status(models.TextChoices):
        WAITING = "waiting", "Waiting"
        DELIVERED = "delivered", "Delivered"

    webhook = models.ForeignKey(AuditWebhook, on_delete=models.CASCADE, related_name="deliveries")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.WAITING)
    event_count = models.PositiveSmallIntegerField()
    attempt_count = models.PositiveIntegerField(default=0)
    attempts: models.JSONField[list[dict[str, Any]], list[dict[str, Any]]] = models.JSONField(
        default=list, help_text="The newest 20: at, seconds, status_code, answer."
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)
    delivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        verbose_name_plural = "audit deliveries"
        constraints = [
            models.UniqueConstraint(
                fields=["webhook"], condition=Q(status="waiting"), name="audit_delivery_one_at_a_time"
            )
        ]


class AuditDeliveryEntry(AccountModel):
    """An entry in a delivery; an entry is in at most one."""

    webhook = models.ForeignKey(AuditWebhook, on_delete=models.CASCADE, related_name="+")
    delivery = models.ForeignKey(AuditDelivery, on_delete=models.CASCADE, related_name="entries")
    # An account's audit log can grow while the account is deleted. With a cascade here, Django would list its entries first
    # and miss the newest; both tables hang on the account, and an entry alone is never deleted.
    entry = models.ForeignKey(AuditEntry, on_delete=models.DO_NOTHING, related_name="+")

    class Meta:
        verbose_name_plural = "audit delivery entries"
        constraints = [
            models.UniqueConstraint(fields=["webhook", "entry"], name="audit_entry_in_one_delivery")
        ]
