"""The page of AI spend beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.ai_spend import views

urlpatterns = [path("ai-spend/", views.index, name="ai_spend")]
