from __future__ import annotations

from django.urls import path

from ingestion.views import openapi, push

urlpatterns = [
    path("api/usage/events", push.push, name="usage_events"),
    path("api/usage/openapi.json", openapi.openapi, name="usage_openapi"),
]
