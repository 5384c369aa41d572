"""The reference of the REST API in the console."""

from __future__ import annotations

from django.urls import path

from mcpserver.rest import page

urlpatterns = [path("help/rest-api/", page.rest_api, name="rest_api")]
