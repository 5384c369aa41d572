"""The audit log of an account: who did what, when."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from accounts.scoping import AccountModel
from finops.lib import clock


class AuditEntry(AccountModel):
    """One write, stored as it was recorded; never changed, never holding a secret."""

    at = models.DateTimeField(default=clock.now, editable=False)
    actor_user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    actor_label = models.CharField(max_length=254)
    action = models.CharField(max_length=60)
    target = models.CharField(max_length=254, blank=True)
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [models.Index(fields=["account", "-at"], name="audit_newest_of_account")]
        verbose_name_plural = "audit entries"

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M} {self.actor_label} {self.action} {self.target}"

    @property
    def action_parts(self) -> tuple[str, str]:
        """The subject of the action with its dot, and the verb: a long action breaks between them."""
        subject, dot, verb = self.action.partition(".")
        return f"{subject}{dot}", verb

    @property
    def target_parts(self) -> tuple[str, str]:
        """The target before the @ of an email address, and the rest."""
        name, at, domain = self.target.partition("@")
        return name, f"{at}{domain}"

    @property
    def actor_parts(self) -> tuple[str, str]:
        """The actor before the @ of an email address, and the rest: a long address breaks between them."""
        name, at, domain = self.actor_label.partition("@")
        return name, f"{at}{domain}"
