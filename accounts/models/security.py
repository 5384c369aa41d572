"""A person's sign-in data: open sessions and security events."""

from __future__ import annotations

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models

from finops.lib import clock


class Session(AbstractBaseSession):
    """A browser session, signed in or not. The cookie's value is not stored: `session_key` is its SHA-256, and
    `session_data` is sealed. Written by accounts.security.sessions only."""

    session_key = models.CharField(max_length=64, primary_key=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="sessions"
    )
    address = models.CharField(max_length=45, blank=True)
    client = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(default=clock.now)
    last_seen_at = models.DateTimeField(default=clock.now)
    longest_idle_seconds = models.PositiveIntegerField(
        default=0, help_text="Longest idle time since the sign-in."
    )

    @classmethod
    def get_session_store_class(cls) -> type[SessionBase]:
        from accounts.security.sessions import SessionStore

        return SessionStore


class SecurityEvent(models.Model):
    """An event of a person's sign-in, visible to that person only; each of the person's accounts has an entry in its audit
    log. Without a person: a failed sign-in with an unknown address, which is not stored."""

    class Kind(models.TextChoices):
        SIGN_IN = "sign_in", "Signed in"
        FAIL_SIGN_IN = "fail_sign_in", "Sign-in failed"
        FAIL_SECOND_FACTOR = "fail_second_factor", "Wrong second factor"
        ADD_SECOND_FACTOR = "add_second_factor", "Second factor added"
        REMOVE_SECOND_FACTOR = "remove_second_factor", "Second factor removed"
        GENERATE_RECOVERY_CODES = "generate_recovery_codes", "Recovery codes generated"
        ADD_EMAIL = "add_email", "Email address added"
        CONFIRM_EMAIL = "confirm_email", "Email address confirmed"
        CHANGE_EMAIL = "change_email", "Primary email address changed"
        REMOVE_EMAIL = "remove_email", "Email address removed"
        CHANGE_PASSWORD = "change_password", "Password changed"
        RESET_PASSWORD = "reset_password", "Password reset"
        SET_PASSWORD = "set_password", "Password set"
        END_SESSION = "end_session", "Session ended"

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="security_events"
    )
    at = models.DateTimeField(default=clock.now, editable=False)
    kind = models.CharField(max_length=30, choices=Kind.choices)
    detail = models.CharField(max_length=254, blank=True)
    address = models.CharField(max_length=45, blank=True)
    client = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [models.Index(fields=["user", "-at"], name="security_newest_of_user")]

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.user_id} {self.kind}"
