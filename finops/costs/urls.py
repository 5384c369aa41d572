"""Pages of cost beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.costs.views import closed_months, connections, explorer, invoices, overview, settings

urlpatterns = [
    path("", overview.overview, name="overview"),
    path("cost-explorer/", explorer.index, name="cost_explorer"),
    path("cost-explorer/values/", explorer.values, name="dimension_values"),
    path("connections/", connections.index, name="connections"),
    path("connections/overlaps/dismiss/", connections.dismiss_overlap, name="overlap_dismiss"),
    path("connections/upload/", connections.upload, name="cost_upload"),
    path("connections/imports/<int:import_id>/", connections.cost_import, name="cost_import"),
    path("connections/imports/<int:import_id>/confirm/", connections.confirm, name="cost_import_confirm"),
    path("connections/imports/<int:import_id>/cancel/", connections.cancel, name="cost_import_cancel"),
    path("connections/imports/<int:import_id>/discard/", connections.discard, name="cost_import_discard"),
    path("connections/<int:source_id>/", connections.source, name="connection"),
    path("connections/<int:source_id>/rename/", connections.rename, name="connection_rename"),
    path("connections/<int:source_id>/settle-days/", connections.settle_days, name="connection_settle_days"),
    path("connections/<int:source_id>/delete/", connections.delete, name="connection_delete"),
    path("invoices/", invoices.index, name="invoices"),
    path("invoices/invoice/", invoices.invoice, name="invoice"),
    path("invoices/totals/", invoices.enter_total, name="invoice_total"),
    path(
        "invoices/totals/<int:invoice_total_id>/remove/", invoices.remove_total, name="invoice_total_remove"
    ),
    path("invoices/closed-months/", closed_months.index, name="closed_months"),
    path("invoices/closed-months/close/", closed_months.close, name="closed_month_close"),
    path(
        "invoices/closed-months/<int:closed_month_id>/reopen/",
        closed_months.reopen,
        name="closed_month_reopen",
    ),
    path("settings/cost-view/", settings.cost_view, name="cost_view"),
    path("settings/imports/", settings.import_review, name="import_review"),
]
