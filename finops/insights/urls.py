"""Pages of insights beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.insights.views import (
    anomalies,
    anomaly,
    anomaly_settings,
    commitments,
    data_health,
    spend_change,
)

urlpatterns = [
    path("anomalies/", anomalies.index, name="anomalies"),
    path("anomalies/open/", anomalies.tile, name="anomalies_open"),
    path("anomalies/settings/", anomaly_settings.page, name="anomaly_settings"),
    path("anomalies/<slug:anomaly_key>/", anomaly.page, name="anomaly"),
    path("anomalies/<slug:anomaly_key>/expect/", anomaly.expect, name="anomaly_expect"),
    path("anomalies/<slug:anomaly_key>/resolve/", anomaly.resolve, name="anomaly_resolve"),
    path("anomalies/<slug:anomaly_key>/reopen/", anomaly.reopen, name="anomaly_reopen"),
    path("commitments/", commitments.index, name="commitments"),
    path("connections/health/", data_health.index, name="data_health"),
    path("spend-change/", spend_change.index, name="spend_change"),
]
