"""Pages of insights beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.insights.views import data_health, spend_change

urlpatterns = [
    path("connections/health/", data_health.index, name="data_health"),
    path("spend-change/", spend_change.index, name="spend_change"),
]
