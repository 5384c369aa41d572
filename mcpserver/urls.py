from __future__ import annotations

from django.urls import path

from mcpserver import discovery, views

urlpatterns = [
    path("api/mcp", views.endpoint, name="mcp"),
    path(discovery.CARD_PATH, discovery.server_card, name="mcp_server_card"),
    path(discovery.REGISTRY_ENTRY_PATH, discovery.server_json, name="mcp_server_json"),
    path(".well-known/ai-catalog.json", discovery.ai_catalog, name="ai_catalog"),
    path(".well-known/mcp/catalog.json", discovery.ai_catalog, name="mcp_catalog"),
]
