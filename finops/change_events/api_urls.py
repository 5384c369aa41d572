from __future__ import annotations

from django.urls import path

from finops.change_events.views import api_page, push

urlpatterns = [
    path("api/events", push.push, name="change_events_push"),
    path("api/events/openapi.json", api_page.openapi, name="event_openapi"),
]
