"""Mails that the mail server has not accepted yet."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from finops.lib import clock


class UnsentMail(models.Model):
    """An unsent mail. It has no account: sign-up and password reset happen before there is one."""

    sealed = models.TextField()
    """The message, sealed because it holds links that let people sign in."""
    attempts = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(default=clock.now)
    next_attempt_at = models.DateTimeField(db_index=True)

    class Meta:
        ordering: ClassVar = ["pk"]
