"""URLs of Settings → Cost access under `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.cost_access.views import limits, readers

urlpatterns = [
    path("settings/cost-access/", limits.index, name="cost_access"),
    path("settings/cost-access/new/", limits.new, name="cost_access_new"),
    path("settings/cost-access/preview/", limits.preview, name="cost_access_preview"),
    path("settings/cost-access/<int:limit_id>/", limits.edit, name="cost_access_edit"),
    path("settings/cost-access/<int:limit_id>/delete/", limits.delete, name="cost_access_delete"),
    path("settings/cost-access/readers/", readers.index, name="cost_access_readers"),
    path(
        "settings/cost-access/members/<int:membership_id>/", readers.change_member, name="cost_access_member"
    ),
    path("settings/cost-access/keys/<int:key_id>/", readers.change_key, name="cost_access_key"),
    path("settings/cost-access/apps/<int:connection_id>/", readers.change_app, name="cost_access_app"),
    path(
        "settings/cost-access/data-exports/<int:data_export_id>/",
        readers.change_other,
        {"kind": "data_export"},
        name="cost_access_data_export",
    ),
    path(
        "settings/cost-access/report-schedules/<int:schedule_id>/",
        readers.change_other,
        {"kind": "report_schedule"},
        name="cost_access_report_schedule",
    ),
    path(
        "settings/cost-access/alert-channels/<int:channel_id>/",
        readers.change_other,
        {"kind": "alert_channel"},
        name="cost_access_alert_channel",
    ),
    path(
        "settings/cost-access/alerts/<int:subscription_id>/",
        readers.change_other,
        {"kind": "alert_subscription"},
        name="cost_access_alert_subscription",
    ),
]
