"""Settings → Audit log → Webhook, beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.audit_webhooks import views

_BASE = "settings/audit-log/webhook/"

urlpatterns = [
    path(_BASE, views.index, name="audit_webhook"),
    path(f"{_BASE}create/", views.create, name="audit_webhook_create"),
    path(f"{_BASE}url/", views.url, name="audit_webhook_url"),
    path(f"{_BASE}secret/", views.secret, name="audit_webhook_secret"),
    path(f"{_BASE}pause/", views.pause, name="audit_webhook_pause"),
    path(f"{_BASE}resume/", views.resume, name="audit_webhook_resume"),
    path(f"{_BASE}test/", views.test, name="audit_webhook_test"),
    path(f"{_BASE}send-again/", views.send_again, name="audit_webhook_send_again"),
    path(f"{_BASE}delete/", views.delete, name="audit_webhook_delete"),
]
