"""Assistant activity beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.activity import views

urlpatterns = [
    path("assistant-activity/", views.index, name="assistant_activity"),
    path("assistant-activity/retention/", views.retention, name="assistant_activity_retention"),
    path("assistant-activity/<int:call_id>/", views.call, name="assistant_call"),
]
