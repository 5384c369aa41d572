from __future__ import annotations

from django.urls import path

from ingestion.views import api_page, push

urlpatterns = [
    path("api/usage/events", push.push, name="usage_events"),
    path("api/usage/openapi.json", api_page.openapi, name="usage_openapi"),
]
