"""SCIM resources of this service, and rows as resources. Imported with the first SCIM request, because pydantic takes
half a second."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Final

from scim2_models import (
    URN,
    AuthenticationScheme,
    Bulk,
    ChangePassword,
    ComplexAttribute,
    Context,
    ETag,
    Filter,
    GroupMember,
    GroupMembership,
    Meta,
    Mutability,
    Pagination,
    Patch,
    PatchOp,
    Required,
    Resource,
    ScimPolicy,
    ScimProvider,
    ServiceProviderConfig,
    Sort,
    Uniqueness,
)

from accounts.sso.models import ScimGroup, ScimUser
from accounts.sso.scim.errors import ScimRefusal
from accounts.sso.scim.groups import GroupAttributes
from accounts.sso.scim.member_patches import MAX_OTHER_OPERATIONS, MemberChange, steps
from accounts.sso.scim.urls import base_url
from accounts.sso.scim.users import UserAttributes

MAX_RESULTS: Final = 200
"""Resources on a page."""

POLICY: Final = ScimPolicy(
    unknown=ScimPolicy.Unknown.ignore,
    remove_value_as_filter=ScimPolicy.RemoveValue.apply,
    unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
)
"""Unknown attributes are ignored, as RFC 7644 allows; the other options accept the patches of Entra ID."""


class Email(ComplexAttribute):
    value: str | None = None
    type: str | None = None
    primary: bool | None = None


class PersonName(ComplexAttribute):
    formatted: str | None = None
    family_name: str | None = None
    given_name: str | None = None


class Member(GroupMember):
    display: Annotated[str | None, Mutability.read_only] = None


class UserResource(Resource[Any]):
    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:User")

    user_name: Annotated[str | None, Uniqueness.server, Required.true] = None
    name: PersonName | None = None
    display_name: str | None = None
    active: bool | None = None
    emails: list[Email] | None = None
    groups: Annotated[list[GroupMembership] | None, Mutability.read_only] = None


class GroupResource(Resource[Any]):
    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:Group")

    display_name: Annotated[str | None, Uniqueness.server, Required.true] = None
    members: list[Member] | None = None


def user_resource(row: ScimUser, *, is_active: bool, groups: list[ScimGroup]) -> UserResource:
    base = base_url(row.provider)
    name = PersonName(
        formatted=row.formatted_name or None,
        given_name=row.given_name or None,
        family_name=row.family_name or None,
    )
    return UserResource(
        id=str(row.public_id),
        external_id=row.external_id or None,
        user_name=row.user_name,
        name=name if row.formatted_name or row.given_name or row.family_name else None,
        display_name=row.display_name or None,
        active=is_active,
        emails=[Email(**each) for each in row.emails] or None,
        groups=[
            GroupMembership.model_validate(
                {
                    "value": str(group.public_id),
                    "display": group.display_name,
                    "$ref": f"{base}/Groups/{group.public_id}",
                }
            )
            for group in groups
        ]
        or None,
        meta=_meta("User", row, f"{base}/Users/{row.public_id}"),
    )


def attributes_of(resource: UserResource) -> UserAttributes:
    """Return the attributes of a resource in the form of the services."""
    name = resource.name or PersonName()
    return UserAttributes(
        user_name=(resource.user_name or "").strip(),
        external_id=resource.external_id or "",
        display_name=resource.display_name or "",
        formatted_name=name.formatted or "",
        given_name=name.given_name or "",
        family_name=name.family_name or "",
        emails=[
            {key: value for key in ("value", "type", "primary") if (value := getattr(each, key)) is not None}
            for each in resource.emails or []
        ],
        active=resource.active,
    )


def group_resource(row: ScimGroup, members: list[ScimUser] | None) -> GroupResource:
    """Return a group as a resource. `members` is None if the request excludes them."""
    base = base_url(row.provider)
    return GroupResource(
        id=str(row.public_id),
        external_id=row.external_id or None,
        display_name=row.display_name,
        members=[
            Member.model_validate(
                {
                    "value": str(user.public_id),
                    "type": "User",
                    "$ref": f"{base}/Users/{user.public_id}",
                }
            )
            for user in members or []
        ]
        or None,
        meta=_meta("Group", row, f"{base}/Groups/{row.public_id}"),
    )


def group_patch(body: dict[str, Any]) -> Callable[[ScimGroup], GroupAttributes]:
    """Return a function that applies a patch to a group. Raises pydantic's ValidationError and ScimRefusal for an
    invalid body; the function raises the errors of scim2-models and ScimRefusal."""
    body = patch_operations(body)
    patch = PatchOp[GroupResource].model_validate(body, scim_ctx=Context.RESOURCE_PATCH_REQUEST)
    operations, raw = iter(patch.operations or []), body.get("Operations")
    if not isinstance(raw, list):  # in another case, which scim2-models accepts
        raw = [None for _ in patch.operations or []]
    runs: list[MemberChange | PatchOp[GroupResource]] = []
    other_count = 0
    for step in steps(raw):
        if isinstance(step, MemberChange):
            next(operations)
            runs.append(step)
            continue
        other_count += len(step)
        run = [next(operations) for _ in step]
        runs.append(PatchOp[GroupResource].model_construct(operations=run))
    if other_count > MAX_OTHER_OPERATIONS:
        raise ScimRefusal(
            f"A patch has at most {MAX_OTHER_OPERATIONS} operations, not counting those that add, remove or replace members by value."
        )

    def change(row: ScimGroup) -> GroupAttributes:
        attributes = GroupAttributes(
            display_name=row.display_name,
            external_id=row.external_id,
            members=frozenset(row.members.values_list("public_id", flat=True)),
        )
        for run in runs:
            attributes = _apply(row, attributes, run)
        return attributes

    return change


def _apply(
    row: ScimGroup, attributes: GroupAttributes, run: MemberChange | PatchOp[GroupResource]
) -> GroupAttributes:
    members = attributes.members or frozenset()
    if isinstance(run, MemberChange):
        return dataclasses.replace(attributes, members=run(members))
    resource = GroupResource(
        id=str(row.public_id),
        external_id=attributes.external_id or None,
        display_name=attributes.display_name,
        # With `value` only, as `patch_operations` writes members.
        members=[Member.model_validate({"value": str(each)}) for each in members] or None,
    )
    run.patch(resource)
    return group_attributes_of(resource)


def patch_operations(body: dict[str, Any]) -> dict[str, Any]:
    """Remove `display`, `$ref` and nulls of members from a patch: Entra ID removes `{"$ref": null, "value": …}`,
    which equals no member."""
    operations = body.get("Operations")
    if not isinstance(operations, list):
        return body
    return body | {"Operations": [_plain_members(each) for each in operations]}


def _plain_members(operation: Any) -> Any:
    values = operation.get("value") if isinstance(operation, dict) else None
    if isinstance(values, dict) and isinstance(values.get("members"), list):
        return operation | {"value": values | {"members": _plain_values(values["members"])}}
    return operation | {"value": _plain_values(values)} if isinstance(values, list) else operation


def _plain_values(values: list[Any]) -> list[Any]:
    return [
        {key: each[key] for key in ("value", "type") if each.get(key) is not None and each.get(key) != "User"}
        if isinstance(each, dict)
        else each
        for each in values
    ]


def group_attributes_of(resource: GroupResource) -> GroupAttributes:
    """Return the attributes of a resource in the form of the services. Raises ScimRefusal for a member that is a
    group or an invalid ID."""
    return GroupAttributes(
        display_name=(resource.display_name or "").strip(),
        external_id=resource.external_id or "",
        members=frozenset(_member_id(member) for member in resource.members or []),
    )


def _member_id(member: Member) -> uuid.UUID:
    if member.type not in (None, "User"):
        raise ScimRefusal("Groups within groups are not supported. Push their users.")
    try:
        return uuid.UUID(member.value or "")
    except ValueError as error:
        raise ScimRefusal(f"{(member.value or '')[:100]!r} is not the id of a user.") from error


def _meta(kind: str, row: ScimUser | ScimGroup, location: str) -> Meta:
    return Meta(resource_type=kind, created=row.created_at, last_modified=row.updated_at, location=location)


@cache
def service() -> ScimProvider:
    """Return the content of `/ResourceTypes` and `/Schemas`, the same for every account."""
    return ScimProvider(models=[UserResource, GroupResource], policy=POLICY)


@cache
def service_config() -> ServiceProviderConfig:
    return ServiceProviderConfig(
        patch=Patch(supported=True),
        bulk=Bulk(supported=False, max_operations=0, max_payload_size=0),
        filter=Filter(supported=True, max_results=MAX_RESULTS),
        change_password=ChangePassword(supported=False),
        sort=Sort(supported=False),
        etag=ETag(supported=False),
        pagination=Pagination(
            cursor=False,
            index=True,
            default_pagination_method=Pagination.DefaultPaginationMethod.index,
            max_page_size=MAX_RESULTS,
        ),
        authentication_schemes=[
            AuthenticationScheme(
                type=AuthenticationScheme.Type.oauthbearertoken,
                name="Bearer token",
                description="A SCIM token of Settings → Single sign-on.",
                primary=True,
            )
        ],
    )
