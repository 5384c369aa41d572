"""Issue trackers of an account, and the issues created there from its savings."""

from __future__ import annotations

import uuid
from typing import Any, Final

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.scoping import AccountModel
from finops.lib import clock
from finops.lib.constraints import not_empty, unique_in_account

CLOSED_STATES: Final = ("completed", "not_planned")


class IssueTracker(AccountModel):
    """The destination of a saving's issue: a repository of GitHub, a project of Jira or a team of Linear."""

    class Kind(models.TextChoices):
        GITHUB = "github", "GitHub"
        JIRA = "jira", "Jira"
        LINEAR = "linear", "Linear"

    name = models.CharField(max_length=100, error_messages={"blank": "Enter a name."})
    kind = models.CharField(max_length=10, choices=Kind.choices)
    config: models.JSONField[Any, dict[str, Any]] = models.JSONField(
        help_text="finops.issues.tracker_configs, by type, without secrets."
    )
    credentials = models.TextField(help_text="Token or API key, encrypted (finops.lib.sealing).")
    credentials_changed_at = models.DateTimeField(default=clock.now)
    tested_at = models.DateTimeField(null=True, blank=True, help_text="Last successful test.")
    cursor: models.JSONField[Any, dict[str, Any]] = models.JSONField(
        default=dict,
        blank=True,
        help_text="Cursor of the next poll, in the vendor client's format.",
    )
    next_poll_at = models.DateTimeField(default=clock.now)
    polled_at = models.DateTimeField(null=True, blank=True, help_text="Last successful poll.")
    verified_at = models.DateTimeField(
        null=True, blank=True, help_text="When completed issues were last compared with the bills."
    )
    failures = models.PositiveIntegerField(default=0, help_text="Failed polls since the last success.")
    error = models.TextField(blank=True, help_text="Error of the last poll.")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)
    changed_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            unique_in_account(
                "name",
                name="issue_tracker_name_unique",
                message="An issue tracker with this name already exists.",
            ),
            not_empty("name", name="issue_tracker_has_a_name", message="Enter a name."),
        ]
        indexes = [models.Index(fields=["next_poll_at"], name="issue_tracker_due")]

    def __str__(self) -> str:
        return self.name


class SavingIssue(AccountModel):
    """A saving's issue in a tracker: first the data to create it, then its state.

    `state` follows the tracker, except for creating and failed, which precede the issue.
    """

    class IssueState(models.TextChoices):
        CREATING = "creating", "Being created"
        FAILED = "failed", "Not created"
        OPEN = "open", "Open"
        COMPLETED = "completed", "Closed as completed"
        NOT_PLANNED = "not_planned", "Closed as not planned"
        MISSING = "missing", "Not found"

    tracker = models.ForeignKey(IssueTracker, on_delete=models.CASCADE, related_name="issues")
    saving_key = models.CharField(max_length=24)
    state = models.CharField(max_length=12, choices=IssueState.choices, default=IssueState.CREATING)
    content: models.JSONField[Any, dict[str, Any]] = models.JSONField(
        help_text="finops.issues.content.IssueContent."
    )
    saving: models.JSONField[Any, dict[str, Any]] = models.JSONField(
        help_text="finops.insights.savings.services.SavingSnapshot: the saving when the issue was created."
    )
    marker = models.CharField(max_length=40, help_text="Unique marker in the text of the issue.")
    request_id = models.UUIDField(
        default=uuid.uuid4, help_text="Idempotency key of the creation, if the vendor supports one."
    )
    remote_id = models.CharField(max_length=100, blank=True, help_text="ID at the vendor.")
    remote_key = models.CharField(max_length=100, blank=True, help_text="Displayed key: #12, OPS-7.")
    url = models.CharField(max_length=500, blank=True)
    remote_status = models.CharField(
        max_length=100, blank=True, help_text="Status in the tracker's own wording: In Review."
    )
    note = models.TextField(blank=True, help_text="Why it was not created or not found.")
    closed_at = models.DateTimeField(null=True, blank=True)
    checked_at = models.DateTimeField(null=True, blank=True, help_text="When its status was last read.")
    marked_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Dismissal of the saving that closing the issue created, while it exists.",
    )
    attempts = models.PositiveSmallIntegerField(default=0)
    next_attempt_at = models.DateTimeField(null=True, blank=True, default=clock.now)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_by_label = models.CharField(max_length=254, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["tracker", "saving_key"], name="saving_issue_once_a_tracker"),
            models.CheckConstraint(
                condition=Q(state="creating", next_attempt_at__isnull=False)
                | (~Q(state="creating") & Q(next_attempt_at=None)),
                name="saving_issue_is_due_while_creating",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["creating", "failed"]) | ~Q(remote_id=""),
                name="saving_issue_has_an_issue",
            ),
            models.CheckConstraint(
                condition=Q(state__in=CLOSED_STATES, closed_at__isnull=False)
                | (~Q(state__in=CLOSED_STATES) & Q(closed_at=None)),
                name="saving_issue_closed_at_a_time",
            ),
        ]
        indexes = [
            models.Index(fields=["account", "saving_key"], name="saving_issue_of_saving"),
            models.Index(fields=["next_attempt_at"], condition=Q(state="creating"), name="saving_issue_due"),
        ]

    def __str__(self) -> str:
        return self.remote_key or self.saving_key
