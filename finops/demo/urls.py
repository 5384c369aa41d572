"""Pages of sample data beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.demo import views

urlpatterns = [path("connections/sample/", views.sample, name="connection_sample")]
