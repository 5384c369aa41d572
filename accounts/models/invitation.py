"""Invitations to an account, by email."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.models.people import Role
from accounts.scoping import AccountModel
from finops.lib import clock

OPEN = Q(accepted_at=None, declined_at=None, withdrawn_at=None)
"""Condition: not answered, whether or not the invitation expired."""


class Invitation(AccountModel):
    """An invitation of an address to become a member. The link's token is in the mail only: its hash is stored.

    A mail is due while `sent_at` is empty and `send_after` is past; sending gives it a new token, which invalidates the
    token of the earlier mail.
    """

    email = models.EmailField("email", max_length=254, help_text="In lowercase.")
    role = models.CharField(max_length=10, choices=Role.below_owner(), default=Role.VIEWER)
    digest = models.BinaryField(max_length=32, null=True, editable=False, unique=True)
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    invited_by_label = models.CharField(max_length=254, editable=False)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    expires_at = models.DateTimeField()
    send_after = models.DateTimeField(default=clock.now, editable=False)
    sent_at = models.DateTimeField(null=True, blank=True, editable=False)
    attempts = models.PositiveSmallIntegerField(default=0, editable=False)
    accepted_at = models.DateTimeField(null=True, blank=True, editable=False)
    declined_at = models.DateTimeField(null=True, blank=True, editable=False)
    withdrawn_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["email"]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "email"], condition=OPEN, name="invitation_open_once_an_address"
            ),
            models.CheckConstraint(
                condition=Q(role__in=["viewer", "member", "admin"]), name="invitation_role_is_known"
            ),
            models.CheckConstraint(
                condition=Q(email=models.functions.Lower("email")), name="invitation_email_in_lower_case"
            ),
            models.CheckConstraint(
                condition=Q(accepted_at=None, declined_at=None)
                | Q(accepted_at=None, withdrawn_at=None)
                | Q(declined_at=None, withdrawn_at=None),
                name="invitation_ends_once",
            ),
        ]
        indexes = [
            models.Index(fields=["send_after"], condition=OPEN & Q(sent_at=None), name="invitation_to_send")
        ]

    def __str__(self) -> str:
        return self.email

    @property
    def state(self) -> str:
        if self.accepted_at:
            return "accepted"
        if self.declined_at:
            return "declined"
        if self.withdrawn_at:
            return "withdrawn"
        return "expired" if self.expires_at <= clock.now() else "open"
