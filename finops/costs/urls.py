"""Pages of cost beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.costs.views import connections, cost_view, explorer, overview

urlpatterns = [
    path("", overview.overview, name="overview"),
    path("cost-explorer/", explorer.index, name="cost_explorer"),
    path("cost-explorer/values/", explorer.values, name="dimension_values"),
    path("connections/", connections.index, name="connections"),
    path("settings/cost-view/", cost_view.index, name="cost_view"),
]
