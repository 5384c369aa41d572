"""URLs of the page that verifies an answer."""

from __future__ import annotations

from django.urls import path

from mcpserver.receipts import page

urlpatterns = [
    path("verify-answer/", page.verify_answer, name="verify_answer"),
    path("verify-answer/retention/", page.receipt_retention, name="receipt_retention"),
]
