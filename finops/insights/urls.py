"""Pages of insights beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.insights.views import spend_change

urlpatterns = [
    path("spend-change/", spend_change.index, name="spend_change"),
]
