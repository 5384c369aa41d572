from __future__ import annotations

from django.urls import path

from finops.search import views

urlpatterns = [path("search/", views.results, name="search")]
