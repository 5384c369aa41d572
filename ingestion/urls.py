"""Pages of usage beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from ingestion.views import api_page, batches, billing, customers, metrics, sources, uploads, usage

_SOURCE = "connections/usage/<int:usage_source_id>"

urlpatterns = [
    path("usage/", usage.index, name="usage"),
    path("usage/values/", usage.values, name="usage_values"),
    path("settings/metrics/", metrics.index, name="usage_metrics"),
    path("settings/metrics/<int:usage_metric_id>/", metrics.metric, name="usage_metric"),
    path("settings/usage/", billing.index, name="usage_billing"),
    path("settings/usage/retention/", billing.retention, name="usage_retention"),
    path("customers/", customers.index, name="customers"),
    path("customers/<int:customer_pk>/", customers.customer, name="customer"),
    path("connections/usage/", sources.index, name="usage_sources"),
    path("connections/usage/new/", sources.new, name="usage_source_new"),
    path(f"{_SOURCE}/", sources.source, name="usage_source"),
    path(f"{_SOURCE}/batches/", batches.batches, name="usage_batches"),
    path(f"{_SOURCE}/batches/void/", batches.void, name="usage_batch_void"),
    path(f"{_SOURCE}/rejected/", batches.rejected_events, name="usage_rejected"),
    path(f"{_SOURCE}/upload/", uploads.new, name="usage_upload_new"),
    path("connections/usage/api/", api_page.api, name="usage_api"),
    path("connections/usage/template/", uploads.template, name="usage_upload_template"),
    path("connections/usage/uploads/<int:usage_upload_id>/", uploads.upload, name="usage_upload"),
    path(
        "connections/usage/uploads/<int:usage_upload_id>/cancel/", uploads.cancel, name="usage_upload_cancel"
    ),
    path(f"{_SOURCE}/rename/", sources.rename, name="usage_source_rename"),
    path(
        f"{_SOURCE}/customer-attribute/",
        sources.customer_attribute,
        name="usage_source_customer_attribute",
    ),
    path(f"{_SOURCE}/event-id-field/", sources.event_id_field, name="usage_source_event_id_field"),
    path(f"{_SOURCE}/delete/", sources.delete, name="usage_source_delete"),
    path(f"{_SOURCE}/key/generate/", sources.generate_key, name="usage_key_generate"),
    path(f"{_SOURCE}/key/regenerate/", sources.regenerate_key, name="usage_key_regenerate"),
    path(f"{_SOURCE}/key/revoke/", sources.revoke_key, name="usage_key_revoke"),
]
