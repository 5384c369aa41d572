from __future__ import annotations

from django.urls import path

from ingestion.views import api_page, cloudevents, otlp, push

urlpatterns = [
    path("api/usage/events", push.push, name="usage_events"),
    path("api/usage/cloudevents", cloudevents.push, name="usage_cloudevents"),
    path("api/usage/openmeter/api/v1/events", cloudevents.push_as_openmeter, name="usage_openmeter_events"),
    path("api/usage/otlp/v1/metrics", otlp.push, name="usage_otlp_metrics"),
    path("api/usage/openapi.json", api_page.openapi, name="usage_openapi"),
]
