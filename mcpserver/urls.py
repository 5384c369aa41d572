from __future__ import annotations

from django.urls import path

from mcpserver import views

urlpatterns = [path("api/mcp", views.endpoint, name="mcp")]
