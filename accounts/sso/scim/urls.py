"""URLs of /scim/v2/<provider>/. Views are imported with the first request, because they import pydantic; it is an extra. The last
pattern matches every other path."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path, re_path

from accounts.sso.models import IdentityProvider
from accounts.sso.scim.errors import ERROR_SCHEMA, MEDIA_TYPE
from finops.lib.extras import MissingExtra, require_extra


def base_url(provider: IdentityProvider) -> str:
    """Return the URL that people enter at the provider as tenant URL or base URL."""
    return f"{settings.PUBLIC_URL}/scim/v2/{provider.public_id}"


def _view(name: str, **options: Any) -> Callable[..., HttpResponse]:
    def view(request: HttpRequest, **arguments: Any) -> HttpResponse:
        try:
            require_extra("SCIM")
        except MissingExtra as error:
            answer = {"schemas": [ERROR_SCHEMA], "status": "501", "detail": error.message}
            return JsonResponse(answer, status=HTTPStatus.NOT_IMPLEMENTED, content_type=MEDIA_TYPE)
        from accounts.sso.scim import views

        response: HttpResponse = getattr(views, name).as_view(**options)(request, **arguments)
        return response

    return view


_BASE = "scim/v2/<uuid:provider_id>/"

urlpatterns = [
    path(f"{_BASE}ServiceProviderConfig", _view("ServiceProviderConfig"), name="scim_config"),
    path(f"{_BASE}ResourceTypes", _view("Discovery", kind="ResourceTypes"), name="scim_resource_types"),
    path(f"{_BASE}ResourceTypes/<str:resource_id>", _view("Discovery", kind="ResourceTypes")),
    path(f"{_BASE}Schemas", _view("Discovery", kind="Schemas"), name="scim_schemas"),
    path(f"{_BASE}Schemas/<str:resource_id>", _view("Discovery", kind="Schemas")),
    path(f"{_BASE}Users", _view("Users"), name="scim_users"),
    path(f"{_BASE}Users/.search", _view("UserSearch"), name="scim_user_search"),
    path(f"{_BASE}Users/<str:resource_id>", _view("OneUser"), name="scim_user"),
    path(f"{_BASE}Groups", _view("Groups"), name="scim_groups"),
    path(f"{_BASE}Groups/.search", _view("GroupSearch"), name="scim_group_search"),
    path(f"{_BASE}Groups/<str:resource_id>", _view("OneGroup"), name="scim_group"),
    re_path(r"^scim/v2/(?P<provider_id>[^/]*)", _view("UnknownScimPath"), name="scim_no_path"),
]
