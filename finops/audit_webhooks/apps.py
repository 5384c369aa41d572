from __future__ import annotations

from django.apps import AppConfig


class AuditWebhooksConfig(AppConfig):
    name = "finops.audit_webhooks"
    label = "audit_webhooks"
    verbose_name = "Audit log webhooks"
