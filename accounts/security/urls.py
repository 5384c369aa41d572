"""A person's own pages, beside allauth's."""

from __future__ import annotations

from django.urls import path

from accounts.security import views

urlpatterns = [
    path("sessions/", views.sessions, name="sessions"),
    path("sessions/end/", views.end, name="session_end"),
    path("security-log/", views.log, name="security_log"),
]
