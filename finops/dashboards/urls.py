"""Pages of dashboards beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.dashboards.views import board, dashboards, from_explorer, widgets

urlpatterns = [
    path("dashboards/", dashboards.index, name="dashboards"),
    path("dashboards/new/", dashboards.new, name="dashboard_new"),
    path("dashboards/add/", from_explorer.add, name="dashboard_add"),
    path("dashboards/<int:dashboard_id>/", board.page, name="dashboard"),
    path("dashboards/<int:dashboard_id>/edit/", dashboards.edit, name="dashboard_edit"),
    path("dashboards/<int:dashboard_id>/delete/", dashboards.delete, name="dashboard_delete"),
    path("dashboards/<int:dashboard_id>/layout/", board.layout, name="dashboard_layout"),
    path("dashboards/<int:dashboard_id>/undo/", board.undo, name="dashboard_undo"),
    path("dashboards/<int:dashboard_id>/widgets/new/", widgets.new, name="widget_new"),
    path("dashboards/<int:dashboard_id>/widgets/preview/", widgets.preview, name="widget_preview"),
    path("dashboards/widgets/<int:widget_id>/", board.widget, name="widget"),
    path("dashboards/widgets/<int:widget_id>/edit/", widgets.edit, name="widget_edit"),
    path("dashboards/widgets/<int:widget_id>/remove/", widgets.remove, name="widget_remove"),
    path("dashboards/widgets/<int:widget_id>/duplicate/", widgets.duplicate, name="widget_duplicate"),
]
