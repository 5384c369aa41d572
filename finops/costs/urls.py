"""Pages of cost beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.costs.views import (
    bill_versions,
    closed_months,
    explorer,
    imports,
    invoices,
    overview,
    saved_views,
    settings,
)

urlpatterns = [
    path("", overview.overview, name="overview"),
    path("overview/movers/", overview.movers, name="overview_movers"),
    path("cost-explorer/", explorer.index, name="cost_explorer"),
    path("cost-explorer/values/", explorer.values, name="dimension_values"),
    path("cost-explorer/views/", saved_views.index, name="saved_views"),
    path("cost-explorer/views/menu/", saved_views.menu, name="saved_view_menu"),
    path("cost-explorer/views/new/", saved_views.new, name="saved_view_new"),
    path("cost-explorer/views/<int:saved_view_id>/", saved_views.show, name="saved_view"),
    path("cost-explorer/views/<int:saved_view_id>/update/", saved_views.update, name="saved_view_update"),
    path("cost-explorer/views/<int:saved_view_id>/edit/", saved_views.edit, name="saved_view_edit"),
    path("cost-explorer/views/<int:saved_view_id>/delete/", saved_views.delete, name="saved_view_delete"),
    path("connections/upload/", imports.upload, name="cost_upload"),
    path("connections/imports/<int:import_id>/", imports.cost_import, name="cost_import"),
    path("connections/imports/<int:import_id>/confirm/", imports.confirm, name="cost_import_confirm"),
    path("connections/imports/<int:import_id>/cancel/", imports.cancel, name="cost_import_cancel"),
    path("connections/imports/<int:import_id>/discard/", imports.discard, name="cost_import_discard"),
    path("connections/bill-versions/", bill_versions.bill_versions, name="bill_versions"),
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
