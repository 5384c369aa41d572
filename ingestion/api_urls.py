from __future__ import annotations

from django.urls import path

from ingestion.views import push

urlpatterns = [path("api/usage/events", push.push, name="usage_events")]
