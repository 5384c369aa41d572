"""Pages of reports beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.reports.views import report

urlpatterns = [
    path("reports/", report.index, name="report"),
]
