"""Notifications of an account in the console, and which of them each person has read."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.db import models

from accounts.scoping import AccountModel
from finops.lib import clock
from finops.lib.constraints import not_empty

MAX_PATH: Final = 2_000


class Notification(AccountModel):
    """An event: an alert that was sent, an import or a sync that failed. `key` identifies the event, so that several
    channels and repeated attempts create one notification."""

    class Kind(models.TextChoices):
        ALERT = "alert", "Alert"
        IMPORT = "import", "Import"
        SYNC = "sync", "Sync"
        PUSH = "push", "Push"
        UPLOAD = "upload", "Usage upload"
        EXPORT = "export", "Data export"

    class Severity(models.TextChoices):
        INFO = "info", "Info"
        WARNING = "warning", "Warning"
        CRITICAL = "critical", "Critical"

    kind = models.CharField(max_length=10, choices=Kind.choices)
    severity = models.CharField(max_length=10, choices=Severity.choices)
    title = models.CharField(max_length=200)
    text = models.CharField(max_length=500, blank=True)
    currency = models.CharField(
        max_length=100,
        blank=True,
        default="",
        db_default="",
        help_text="Of the amounts in title and text; several with commas.",
    )
    admins_only = models.BooleanField(
        default=False, help_text="Whether its page and text are restricted to admins and owners."
    )
    path = models.CharField(max_length=MAX_PATH, help_text="URL of its page, with the query.")
    key = models.CharField(max_length=64, help_text="SHA-256 of the event.")
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["account", "key"], name="notification_once"),
            not_empty("title", name="notification_has_a_title", message="Enter a title."),
        ]
        indexes = [
            models.Index(fields=["account", "-created_at"], name="notification_by_time"),
            models.Index(fields=["created_at"], name="notification_by_age"),
        ]

    def __str__(self) -> str:
        return self.title


class NotificationRead(AccountModel):
    """A notification that a person has read."""

    notification = models.ForeignKey(Notification, on_delete=models.CASCADE, related_name="reads")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    read_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["notification", "user"], name="notification_read_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.notification_id}"


class NotificationReader(AccountModel):
    """The time up to which a person has read everything: the last “Mark all as read”."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    read_until = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "user"], name="notification_reader_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.read_until}"
