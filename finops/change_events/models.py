"""Change events, their sources, and the sources' keys."""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from accounts.scoping import AccountModel
from finops.lib import clock
from finops.lib.constraints import not_empty, unique_in_account

MAX_TITLE: Final = 200
MAX_ACTOR: Final = 200
MAX_URL: Final = 2_000
MAX_EVENT_ID: Final = 255


class EventSource(AccountModel):
    """A source of change events: pushed with a key of its own, or pulled with a vendor's credential."""

    class Kind(models.TextChoices):
        PUSH = "push", "Push/API"
        PULL = "pull", "Pull from a vendor"

    name = models.CharField(max_length=100, error_messages={"blank": "Enter a name."})
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.PUSH)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            unique_in_account(
                "name",
                name="event_source_name_unique",
                message="An event source with this name already exists.",
            ),
            not_empty("name", name="event_source_has_a_name", message="Enter a name."),
            models.CheckConstraint(condition=Q(kind__in=["push", "pull"]), name="event_source_kind_is_known"),
        ]

    def __str__(self) -> str:
        return self.name


class EventKey(AccountModel):
    """The key of an event source. Only its hash is stored; a source has at most one active key."""

    source = models.ForeignKey(EventSource, on_delete=models.CASCADE, related_name="keys")
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
        constraints = [
            models.UniqueConstraint(
                fields=["source"],
                condition=Q(revoked_at__isnull=True),
                name="event_key_one_living_key_a_source",
                violation_error_message="The source has a key already; regenerate it instead.",
            )
        ]

    def __str__(self) -> str:
        return self.masked_key

    @property
    def masked_key(self) -> str:
        """The part of a key that may be shown after generation: prefix, lookup part and dots."""
        return f"fevt_{self.lookup}{'•' * 8}"


class ChangeEvent(AccountModel):
    """Something that happened and may explain a change of cost.

    `scope` is `{dimension: [values]}`, the cost that the event concerns; empty: all cost.
    """

    class Kind(models.TextChoices):
        DEPLOYMENT = "deployment", "Deployment"
        RELEASE = "release", "Release"
        CHANGE = "change", "Change"
        PURCHASE = "purchase", "Purchase"
        INCIDENT = "incident", "Incident"
        NOTE = "note", "Note"

    class Origin(models.TextChoices):
        SOURCE = "source", "Event source"
        NOTE = "note", "Note"
        DERIVED = "derived", "Derived"

    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.SOURCE)
    source = models.ForeignKey(
        EventSource, null=True, blank=True, on_delete=models.CASCADE, related_name="events"
    )
    external_id = models.CharField(
        max_length=MAX_EVENT_ID, blank=True, help_text="ID of the event at the source; unique per source."
    )
    occurred_at = models.DateTimeField()
    kind = models.CharField(max_length=12, choices=Kind.choices)
    title = models.CharField(max_length=MAX_TITLE, error_messages={"blank": "Enter a title."})
    actor = models.CharField(max_length=MAX_ACTOR, blank=True)
    url = models.CharField(max_length=MAX_URL, blank=True)
    scope: models.JSONField[Any, dict[str, list[str]]] = models.JSONField(default=dict, blank=True)
    received_at = models.DateTimeField(default=clock.now, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="Author of a note.",
    )

    class Meta:
        ordering = ["-occurred_at", "-id"]
        indexes = [
            models.Index(fields=["account", "-occurred_at", "-id"], name="change_event_newest"),
            models.Index(fields=["source", "-occurred_at"], name="change_event_of_source"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["source", "external_id"],
                condition=Q(source__isnull=False) & ~Q(external_id=""),
                name="change_event_id_unique_in_source",
            ),
            models.UniqueConstraint(
                fields=["account", "external_id"],
                condition=Q(source__isnull=True) & ~Q(external_id=""),
                name="change_event_id_unique_in_account",
            ),
            not_empty("title", name="change_event_has_a_title", message="Enter a title."),
            models.CheckConstraint(
                condition=Q(
                    kind__in=["deployment", "release", "change", "purchase", "incident", "note"],
                ),
                name="change_event_kind_is_known",
            ),
            models.CheckConstraint(
                condition=Q(origin="source", source__isnull=False)
                | Q(origin__in=["note", "derived"], source__isnull=True),
                name="change_event_of_a_source_has_it",
            ),
        ]

    def __str__(self) -> str:
        return self.title


DAYS_LIMIT: Final = "CHANGE_EVENT_DAYS"
FEWEST_DAYS: Final = 400
"""Syncs and derived events cover the last 13 months: events deleted earlier than that would be created again."""
MOST_DAYS: Final = 3_650
DEFAULT_DAYS: Final = 1_100
_DAYS_BOUNDS: Final = f"Keep change events for {FEWEST_DAYS} to {MOST_DAYS:,} days."


class ChangeEventRetention(AccountModel):
    """The number of days before the current one for which the account keeps change events. No row: DEFAULT_DAYS."""

    days = models.PositiveSmallIntegerField(
        default=DEFAULT_DAYS,
        validators=[
            MinValueValidator(FEWEST_DAYS, _DAYS_BOUNDS),
            MaxValueValidator(MOST_DAYS, _DAYS_BOUNDS),
        ],
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account"], name="change_event_retention_once"),
            models.CheckConstraint(
                condition=Q(days__range=(FEWEST_DAYS, MOST_DAYS)), name="change_event_retention_is_bounded"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.days} days"


class EventMonth(AccountModel):
    """The number of events that a source sent in a month of receipt, for the meter. The row stays after its source is
    deleted, because metered events stay metered."""

    source = models.ForeignKey(
        EventSource, null=True, blank=True, on_delete=models.SET_NULL, related_name="months"
    )
    month = models.DateField(help_text="The first day of the month.")
    events = models.BigIntegerField(default=0, help_text="Events stored.")
    duplicates = models.BigIntegerField(default=0)
    rejected = models.BigIntegerField(default=0)

    class Meta:
        ordering = ["-month"]
        constraints = [
            models.UniqueConstraint(fields=["source", "month"], name="event_month_unique"),
            models.CheckConstraint(condition=Q(month__day=1), name="event_month_is_a_first_day"),
        ]

    def __str__(self) -> str:
        return f"{self.month:%Y-%m}: {self.events}"
