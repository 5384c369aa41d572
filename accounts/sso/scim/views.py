"""/scim/v2/<provider>/: users, groups, and the service's own metadata."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, TypeVar

from django.db.models import Model, QuerySet
from rest_framework.request import Request
from rest_framework.response import Response
from scim2_models import (
    Context,
    InvalidFilterException,
    ListResponse,
    PatchOp,
    Resource,
    ResponseParameters,
    SearchRequest,
)

from accounts.sso.models import ScimGroup, ScimUser
from accounts.sso.scim import groups, users
from accounts.sso.scim.endpoint import ScimEndpoint, json_body
from accounts.sso.scim.errors import UnknownScimResource
from accounts.sso.scim.filters import (
    GROUP_COLUMNS,
    USER_COLUMNS,
    NoCondition,
    condition,
    narrowing,
    standard_filter,
)
from accounts.sso.scim.queries import groups_of, is_active, users_of
from accounts.sso.scim.resources import (
    MAX_RESULTS,
    GroupResource,
    UserResource,
    attributes_of,
    group_attributes_of,
    group_patch,
    group_resource,
    service,
    service_config,
    user_resource,
)
from accounts.sso.scim.urls import base_url

MAX_FILTER: Final = 2_000
"""Characters."""
_FURTHEST: Final = 10**9
_OF_SEARCH: Final = ("filter", "startIndex", "count", "attributes", "excludedAttributes")

M = TypeVar("M", bound=Model)


class ServiceProviderConfig(ScimEndpoint):
    http_method_names = ["get"]

    def get(self, request: Request, provider_id: uuid.UUID) -> Response:
        return Response(service_config().model_dump(scim_ctx=Context.RESOURCE_QUERY_RESPONSE))


class Discovery(ScimEndpoint):
    """`/ResourceTypes` and `/Schemas`: the list, or one by ID."""

    http_method_names = ["get"]
    kind = ""

    def get(self, request: Request, provider_id: uuid.UUID, resource_id: str = "") -> Response:
        """Raises UnknownScimResource."""
        rows = service().schemas if self.kind == "Schemas" else service().resource_types
        base = base_url(request.auth.provider)
        dumps = [_description(row, f"{base}/{self.kind}/{row.id}") for row in rows]
        if not resource_id:
            return Response(_list(dumps, len(dumps), 1))
        for dump in dumps:
            if dump["id"] == resource_id:
                return Response(dump)
        raise UnknownScimResource(f"There is no {resource_id[:200]} in {self.kind}.")


def _description(row: Resource[Any], location: str) -> dict[str, Any]:
    dump: dict[str, Any] = row.model_dump(scim_ctx=Context.RESOURCE_QUERY_RESPONSE)
    return dump | {"meta": {"resourceType": type(row).__name__, "location": location}}


class Users(ScimEndpoint):
    http_method_names = ["get", "post"]

    def get(self, request: Request, provider_id: uuid.UUID) -> Response:
        return _user_page(request, request.query_params)

    def post(self, request: Request, provider_id: uuid.UUID) -> Response:
        resource = UserResource.model_validate(json_body(request), scim_ctx=Context.RESOURCE_CREATION_REQUEST)
        row = users.create_user(provider=request.auth.provider, attributes=attributes_of(resource))
        return _user(request, row.public_id, HTTPStatus.CREATED)


class UserSearch(ScimEndpoint):
    """`/Users/.search`: a query whose parameters are in the body."""

    http_method_names = ["post"]

    def post(self, request: Request, provider_id: uuid.UUID) -> Response:
        return _user_page(request, json_body(request))


class OneUser(ScimEndpoint):
    http_method_names = ["get", "put", "patch", "delete"]

    def get(self, request: Request, provider_id: uuid.UUID, resource_id: str) -> Response:
        return _user(request, _id(resource_id))

    def put(self, request: Request, provider_id: uuid.UUID, resource_id: str) -> Response:
        resource = UserResource.model_validate(
            json_body(request), scim_ctx=Context.RESOURCE_REPLACEMENT_REQUEST
        )
        attributes = attributes_of(resource)
        return self._change(request, resource_id, lambda row: attributes)

    def patch(self, request: Request, provider_id: uuid.UUID, resource_id: str) -> Response:
        patch = PatchOp[UserResource].model_validate(
            json_body(request), scim_ctx=Context.RESOURCE_PATCH_REQUEST
        )

        def change(row: ScimUser) -> users.UserAttributes:
            resource = _of_row(users_of(request.auth.provider).get(pk=row.pk))
            patch.patch(resource)
            return attributes_of(resource)

        return self._change(request, resource_id, change)

    def delete(self, request: Request, provider_id: uuid.UUID, resource_id: str) -> Response:
        users.delete_user(provider=request.auth.provider, public_id=_id(resource_id))
        return Response(status=HTTPStatus.NO_CONTENT)

    def _change(
        self, request: Request, resource_id: str, change: Callable[[ScimUser], users.UserAttributes]
    ) -> Response:
        row = users.change_user(provider=request.auth.provider, public_id=_id(resource_id), change=change)
        return _user(request, row.public_id)


class Groups(ScimEndpoint):
    http_method_names = ["get", "post"]

    def get(self, request: Request, provider_id: uuid.UUID) -> Response:
        return _group_page(request, request.query_params)

    def post(self, request: Request, provider_id: uuid.UUID) -> Response:
        resource = GroupResource.model_validate(
            json_body(request), scim_ctx=Context.RESOURCE_CREATION_REQUEST
        )
        row = groups.create_group(provider=request.auth.provider, attributes=group_attributes_of(resource))
        return _group(request, row.public_id, HTTPStatus.CREATED)


class GroupSearch(ScimEndpoint):
    """`/Groups/.search`."""

    http_method_names = ["post"]

    def post(self, request: Request, provider_id: uuid.UUID) -> Response:
        return _group_page(request, json_body(request))


class OneGroup(ScimEndpoint):
    http_method_names = ["get", "put", "patch", "delete"]

    def get(self, request: Request, provider_id: uuid.UUID, resource_id: str) -> Response:
        return _group(request, _id(resource_id))

    def put(self, request: Request, provider_id: uuid.UUID, resource_id: str) -> Response:
        resource = GroupResource.model_validate(
            json_body(request), scim_ctx=Context.RESOURCE_REPLACEMENT_REQUEST
        )
        attributes = group_attributes_of(resource)
        return self._change(request, resource_id, lambda row: attributes)

    def patch(self, request: Request, provider_id: uuid.UUID, resource_id: str) -> Response:
        patch = group_patch(json_body(request))
        return self._change(request, resource_id, patch)

    def delete(self, request: Request, provider_id: uuid.UUID, resource_id: str) -> Response:
        groups.delete_group(provider=request.auth.provider, public_id=_id(resource_id))
        return Response(status=HTTPStatus.NO_CONTENT)

    def _change(
        self, request: Request, resource_id: str, change: Callable[[ScimGroup], groups.GroupAttributes]
    ) -> Response:
        row = groups.change_group(provider=request.auth.provider, public_id=_id(resource_id), change=change)
        return _group(request, row.public_id)


class UnknownScimPath(ScimEndpoint):
    """Every other path: 401 without a token, else 404."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Raises UnknownScimResource, after the errors of every endpoint."""
        super().initial(request, *args, **kwargs)
        raise UnknownScimResource("SCIM has no such endpoint here.")


def _user_page(request: Request, values: Mapping[str, Any]) -> Response:
    search = _valid_parameters(values, SearchRequest[UserResource], _OF_SEARCH)
    rows = users_of(request.auth.provider).prefetch_related("groups")
    return Response(_page(rows, search, USER_COLUMNS, _of_row))


def _group_page(request: Request, values: Mapping[str, Any]) -> Response:
    search = _valid_parameters(values, SearchRequest[GroupResource], _OF_SEARCH)
    rows, of_row = _groups(request, search)
    return Response(_page(rows, search, GROUP_COLUMNS, of_row))


def _user(request: Request, public_id: uuid.UUID, status: HTTPStatus = HTTPStatus.OK) -> Response:
    """Raises UnknownScimResource."""
    parameters = _parameters(request, ResponseParameters[UserResource])
    row = users_of(request.auth.provider).prefetch_related("groups").filter(public_id=public_id).first()
    if row is None:
        raise UnknownScimResource(f"{request.auth.provider.name} has no user {public_id} here.")
    return _answer(_of_row(row), parameters, status)


def _group(request: Request, public_id: uuid.UUID, status: HTTPStatus = HTTPStatus.OK) -> Response:
    """Raises UnknownScimResource."""
    parameters = _parameters(request, ResponseParameters[GroupResource])
    rows, of_row = _groups(request, parameters)
    row = rows.filter(public_id=public_id).first()
    if row is None:
        raise UnknownScimResource(f"{request.auth.provider.name} has no group {public_id} here.")
    return _answer(of_row(row), parameters, status)


def _groups(
    request: Request, parameters: ResponseParameters[Any]
) -> tuple[QuerySet[ScimGroup], Callable[[ScimGroup], GroupResource]]:
    """Return the groups and a function that turns a group into a resource. Members are read only if the request
    includes them: a group may have thousands."""
    rows = groups_of(request.auth.provider)
    excluded = {str(path).rpartition(":")[2].lower() for path in parameters.excluded_attributes or []}
    included = {str(path).rpartition(":")[2].lower() for path in parameters.attributes or []}
    named = "members" not in excluded and (
        not included or any(each.startswith("members") for each in included)
    )
    if not named and "members" not in _filter_text(parameters):
        return rows, lambda row: group_resource(row, None)
    return rows.prefetch_related("members"), lambda row: group_resource(row, list(row.members.all()))


def _filter_text(parameters: ResponseParameters[Any]) -> str:
    return str(getattr(parameters, "filter", None) or "").lower()


def _answer(resource: Resource[Any], parameters: ResponseParameters[Any], status: HTTPStatus) -> Response:
    body = resource.model_dump(scim_ctx=Context.RESOURCE_QUERY_RESPONSE, response_parameters=parameters)
    headers = {"Location": resource.meta.location} if status is HTTPStatus.CREATED and resource.meta else {}
    return Response(body, status=status, headers=headers)


def _of_row(row: ScimUser) -> UserResource:
    return user_resource(row, is_active=is_active(row), groups=list(row.groups.all()))


def _page(
    rows: QuerySet[M],
    search: SearchRequest[Any],
    columns: dict[str, str],
    resource_of: Callable[[M], Resource[Any]],
) -> dict[str, Any]:
    """Return a page of the matches. A filter that uses more than columns reads every row."""
    start = min(search.start_index_0 or 0, _FURTHEST)
    end = start + min(MAX_RESULTS if search.count is None else search.count, MAX_RESULTS)
    expression = search.filter
    try:
        rows = rows.filter(condition(expression.ast, columns)) if expression else rows
        total, resources = rows.count(), [resource_of(row) for row in rows[start:end]]
    except NoCondition:
        every = [resource_of(row) for row in (rows.filter(narrowing(expression.ast)) if expression else rows)]
        matching = [each for each in every if expression is None or expression.match(each)]
        total, resources = len(matching), matching[start:end]
    dumps = [
        each.model_dump(scim_ctx=Context.SEARCH_RESPONSE, response_parameters=search) for each in resources
    ]
    return _list(dumps, total, start + 1)


def _list(dumps: list[dict[str, Any]], total: int, start: int) -> dict[str, Any]:
    return {
        "schemas": [str(ListResponse.__schema__)],
        "totalResults": total,
        "itemsPerPage": len(dumps),
        "startIndex": start,
        "Resources": dumps,
    }


P = TypeVar("P", bound=ResponseParameters[Any])


def _parameters(request: Request, kind: type[P]) -> P:
    return _valid_parameters(request.query_params, kind, ("attributes", "excludedAttributes"))


def _valid_parameters(parameters: Mapping[str, Any], kind: type[P], names: tuple[str, ...]) -> P:
    """Raises pydantic's ValidationError for an invalid filter, path or number, and InvalidFilterException for a
    filter that is too long."""
    values = {name: parameters[name] for name in names if parameters.get(name) not in (None, "")}
    if isinstance(expression := values.get("filter"), str):
        if len(expression) > MAX_FILTER:
            raise InvalidFilterException(detail=f"A filter has up to {MAX_FILTER:,} characters.")
        values["filter"] = standard_filter(expression)
    return kind.model_validate(values)


def _id(text: str) -> uuid.UUID:
    """Raises UnknownScimResource for an invalid ID."""
    try:
        return uuid.UUID(text)
    except ValueError as error:
        raise UnknownScimResource(f"There is no {text[:100]} here.") from error
