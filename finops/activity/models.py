"""Calls of assistants: each call for the account's retention period, and counts by day that pages add up."""

from __future__ import annotations

from typing import Final

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from accounts.scoping import AccountModel

DAYS_LIMIT: Final = "ASSISTANT_ACTIVITY_DAYS"
DEFAULT_DAYS, FEWEST_DAYS, MOST_DAYS = 90, 7, 1_100
"""The most is for an account whose ceiling (`accounts/limits.py`) an operator raised."""


class CallMethod(models.TextChoices):
    """A tool, prompt or resource over MCP, or a tool over the REST API."""

    TOOL = "tool", "Tool"
    PROMPT = "prompt", "Prompt"
    RESOURCE = "resource", "Resource"
    API = "api", "API"

    @property
    def request_line(self) -> str:
        """The request line: a method of MCP, or one of HTTP."""
        return {
            self.TOOL: "tools/call",
            self.PROMPT: "prompts/get",
            self.RESOURCE: "resources/read",
            self.API: "POST /api/v1/tools",
        }[self]


class CallOutcome(models.TextChoices):
    """The outcome of a call, as the assistant received it."""

    OK = "ok", "Answered"
    ERROR = "error", "Error"
    REFUSED = "refused", "Refused"
    INCIDENT = "incident", "Server error"


class OfCredential(AccountModel):
    """An action by a credential, with the credential's name at that time. It outlives credential and person: no foreign
    keys.

    `person_id` is the person who connected an app; None for an MCP key, which belongs to the account.
    """

    # Without an index of its own: that of the table's pages begins with the account.
    account = models.ForeignKey(
        "accounts.Account", on_delete=models.CASCADE, related_name="+", db_index=False
    )
    method = models.CharField(max_length=10, choices=CallMethod.choices)
    name = models.CharField(max_length=64)
    credential_kind = models.CharField(max_length=10)
    credential_id = models.BigIntegerField()
    credential_label = models.CharField(max_length=300)
    person_id = models.BigIntegerField(null=True)
    outcome = models.CharField(max_length=10, choices=CallOutcome.choices)

    class Meta:
        abstract = True


class AssistantCall(OfCredential):
    """One tools/call, prompts/get or resources/read, or POST /api/v1/tools/<name>. `arguments` is JSON, without secrets, cut where it is very long.

    `answer_bytes` is the answer as an assistant reads it, once. `console_page` is below `/a/<slug>/`, or empty.
    Written by finops.activity.calls alone.
    """

    at = models.DateTimeField()
    arguments = models.TextField()
    milliseconds = models.FloatField()
    answer_bytes = models.IntegerField()
    problem = models.CharField(max_length=300)
    console_page = models.TextField()

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [models.Index(fields=["account", "at", "id"], name="assistant_call_of_account")]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.name}"

    @property
    def request_line(self) -> str:
        return CallMethod(self.method).request_line


class AssistantCallCount(OfCredential):
    """The number of calls of a day (UTC) with the same attributes: `bucket` is the size class of the duration from
    finops.activity.buckets."""

    day = models.DateField()
    bucket = models.SmallIntegerField()
    calls = models.IntegerField()
    answer_bytes = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=[
                    "account",
                    "day",
                    "method",
                    "name",
                    "credential_kind",
                    "credential_id",
                    "outcome",
                    "bucket",
                ],
                name="assistant_call_count_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.name}: {self.calls}"


class ActivityRetention(AccountModel):
    """The number of days before the current one for which the account keeps its calls. No row: DEFAULT_DAYS."""

    days = models.PositiveSmallIntegerField(
        default=DEFAULT_DAYS,
        validators=[
            MinValueValidator(FEWEST_DAYS, f"Keep activity for {FEWEST_DAYS} to {MOST_DAYS:,} days."),
            MaxValueValidator(MOST_DAYS, f"Keep activity for {FEWEST_DAYS} to {MOST_DAYS:,} days."),
        ],
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account"], name="activity_retention_once"),
            models.CheckConstraint(
                condition=models.Q(days__range=(FEWEST_DAYS, MOST_DAYS)), name="activity_retention_is_bounded"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.days} days"
