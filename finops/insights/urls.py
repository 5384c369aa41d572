"""Pages of insights beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.insights.views import (
    anomalies,
    anomaly_settings,
    commitments,
    data_health,
    savings,
    simulation,
    spend_change,
    tag_recommendations,
)

urlpatterns = [
    path("anomalies/", anomalies.index, name="anomalies"),
    path("anomalies/open/", anomalies.tile, name="anomalies_open"),
    path("anomalies/settings/", anomaly_settings.settings, name="anomaly_settings"),
    path("anomalies/<slug:anomaly_key>/", anomalies.detail, name="anomaly"),
    path("anomalies/<slug:anomaly_key>/expect/", anomalies.expect, name="anomaly_expect"),
    path("anomalies/<slug:anomaly_key>/resolve/", anomalies.resolve, name="anomaly_resolve"),
    path("anomalies/<slug:anomaly_key>/reopen/", anomalies.reopen, name="anomaly_reopen"),
    path("commitments/", commitments.index, name="commitments"),
    path("commitments/purchase/", simulation.purchase_plan, name="purchase_plan"),
    path("connections/health/", data_health.index, name="data_health"),
    path("cost-tags/recommendations/", tag_recommendations.index, name="tag_recommendations"),
    path("cost-tags/recommendations/draft/", tag_recommendations.draft, name="tag_recommendation_draft"),
    path("savings/", savings.index, name="savings"),
    path("savings/potential/", savings.potential, name="savings_potential"),
    path("savings/import/", savings.import_file, name="savings_import"),
    path("savings/refresh/", savings.refresh, name="savings_refresh"),
    path("savings/<slug:saving_key>/", savings.detail, name="saving"),
    path("savings/<slug:saving_key>/dismiss/", savings.dismiss, name="saving_dismiss"),
    path("savings/<slug:saving_key>/acted/", savings.act, name="saving_act"),
    path("savings/<slug:saving_key>/reopen/", savings.reopen, name="saving_reopen"),
    path("simulation/", simulation.index, name="simulation"),
    path("spend-change/", spend_change.index, name="spend_change"),
]
