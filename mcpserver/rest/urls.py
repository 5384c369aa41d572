"""/api/v1: the tools for programs. The last pattern matches every other path below /api/v1."""

from __future__ import annotations

from django.urls import path, re_path

from mcpserver.rest import configuration, endpoint

urlpatterns = [
    path("api/v1/tools", endpoint.tools, name="rest_tools"),
    path("api/v1/tools/<str:name>", endpoint.tool, name="rest_tool"),
    path("api/v1/configuration", configuration.configuration, name="rest_configuration"),
    path("api/v1/configuration/plan", configuration.plan, name="rest_configuration_plan"),
    path("api/v1/configuration/apply", configuration.apply, name="rest_configuration_apply"),
    path("api/v1/openapi.json", endpoint.openapi, name="rest_openapi"),
    re_path(r"^api/v1/", endpoint.no_path, name="rest_no_path"),
]
