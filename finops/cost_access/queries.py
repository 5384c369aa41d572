"""Reads about limited cost access."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import reduce
from operator import or_

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from accounts.creations import Creation, creations_of
from accounts.credentials import Credential, CredentialKind
from accounts.models import Account, Membership, Role
from accounts.scoping import account_scope
from accounts.sso.models import IdentityProvider
from finops.cost_access.models import (
    READER_FIELDS,
    CostAccessAssignment,
    CostAccessLimit,
    FormerMemberLimit,
)
from finops.lib.prepared_statements import fetch

LIMIT_ROLES = (Role.VIEWER, Role.MEMBER)
"""Admins and owners assign limits, so they have none themselves."""

_ASSIGNED = "SELECT 1 FROM cost_access_costaccessassignment WHERE account_id = %s LIMIT 1"


def limits(account: Account) -> QuerySet[CostAccessLimit]:
    """All limits, by name, without their earlier filters."""
    return CostAccessLimit.objects.filter(account=account, earlier_of=None)


def limit_choices(account: Account) -> list[tuple[str, str]]:
    """(id, name) pairs for a form field. One query."""
    return [(str(pk), name) for pk, name in limits(account).values_list("pk", "name")]


def limit_of_provider(provider: IdentityProvider) -> str:
    """The id of the limit for members that a provider adds, as a form value; empty: none. One query."""
    rows = CostAccessAssignment.objects.filter(provider=provider).values_list("limit_id", flat=True)
    return next(map(str, rows), "")


def own_limit_choices(memberships: Sequence[Membership]) -> dict[int, list[tuple[str, str]]]:
    """(id, name) pairs of the limits that a person may give an app she connects, by account. Empty if she is limited
    herself, so that she does not learn the names of other limits. One query."""
    limited = CostAccessAssignment.objects.unscoped().filter(
        membership__user__in={row.user_id for row in memberships},
        membership__role__in=LIMIT_ROLES,
        account=OuterRef("account"),
    )
    # Unscoped: the consent page shows accounts of one person.
    rows = CostAccessLimit.objects.unscoped().filter(
        ~Exists(limited), account__in={row.account_id for row in memberships}, earlier_of=None
    )
    choices: dict[int, list[tuple[str, str]]] = {}
    for account_id, pk, name in rows.values_list("account_id", "pk", "name"):
        choices.setdefault(account_id, []).append((str(pk), name))
    return choices


def limit_id_of_member() -> Subquery:
    """Annotation for the access check of pages: the id of the limit of the membership that it reads."""
    # Unscoped: the access check runs, before an account is in scope.
    assigned = CostAccessAssignment.objects.unscoped().filter(membership=OuterRef("pk"))
    return Subquery(assigned.values("limit")[:1])


def limits_by_reader(account: Account) -> dict[tuple[str, int], list[CostAccessLimit]]:
    """All assigned limits, by kind of reader (a field of the assignment) and its id. One query."""
    limits: dict[tuple[str, int], list[CostAccessLimit]] = {}
    for row in CostAccessAssignment.objects.filter(account=account).select_related("limit"):
        for name in READER_FIELDS:
            if pk := getattr(row, f"{name}_id"):
                limits.setdefault((name, pk), []).append(row.limit)
    return limits


def limits_of_each(readers: Mapping[str, int | None]) -> list[CostAccessLimit]:
    """The limits of what somebody made, which all apply: ids by the field of the assignment. The account is in scope.
    One query."""
    return list(CostAccessLimit.objects.filter(pk__in=_assignments(readers).values("limit")))


def limited_since(readers: Mapping[str, int | None], since: datetime) -> bool:
    """Whether one of these readers got a limit after the time. The account is in scope. One query."""
    return _assignments(readers).filter(created_at__gt=since).exists()


def _assignments(readers: Mapping[str, int | None]) -> QuerySet[CostAccessAssignment]:
    known = [Q(**{reader: pk}) for reader, pk in readers.items() if pk is not None]
    return CostAccessAssignment.objects.filter(reduce(or_, known, Q(pk__in=[])))


def limits_of_members(account: Account, memberships: Collection[Membership]) -> dict[int, CostAccessLimit]:
    """The limits that apply to members of the account, by the id of the person; admins have none. One query."""
    limited = [row.pk for row in memberships if row.role in LIMIT_ROLES]
    if not limited:
        return {}
    rows = CostAccessAssignment.objects.unscoped().filter(account=account, membership__in=limited)
    assigned = rows.select_related("limit", "membership")
    return {row.membership.user_id: row.limit for row in assigned if row.membership is not None}


def narrowed_by(account: Account, limits: Mapping[int, CostAccessLimit]) -> list[Creation]:
    """What people made and what does not have the limit of each, by the id of the person. Two queries for each kind."""
    creations = list(creations_of(account, limits))
    have: set[tuple[str, int, int]] = set()
    for reader in {each.kind.reader for each in creations}:
        ids = [each.reader_id for each in creations if each.kind.reader == reader]
        with account_scope(account):
            rows = CostAccessAssignment.objects.filter(**{f"{reader}__in": ids})
            pairs = list(rows.values_list(f"{reader}_id", "limit_id"))
        have |= {(reader, pk, limit_id) for pk, limit_id in pairs}
    return [
        each for each in creations if (each.kind.reader, each.reader_id, limits[each.owner_id].pk) not in have
    ]


def narrowed_by_role(membership: Membership, role: str) -> list[Creation]:
    """What a member made that a limit would narrow if she got the role: that of an admin counts only then."""
    if role not in LIMIT_ROLES:
        return []
    lowered = Membership(pk=membership.pk, role=role)
    return narrowed_by(membership.account, limits_of_members(membership.account, [lowered]))


def limits_of_credential(credential: Credential) -> list[CostAccessLimit]:
    """The limits of a key; for a connected app, its own and its person's. No statement in an account without limited
    readers, where the check of the credential has read that; else one without limits."""
    account = credential.account
    has_readers = account.has_limited_readers
    if has_readers is None:
        has_readers = bool(fetch(_ASSIGNED, (account.pk,)))
    if not has_readers:
        return []
    assignee = Q(key=credential.id)
    if credential.kind is CredentialKind.OAUTH:
        person = Q(membership__user=credential.actor.user, membership__role__in=LIMIT_ROLES)
        assignee = Q(connection=credential.id) | person
    with account_scope(account):
        assigned = CostAccessAssignment.objects.filter(assignee).values("limit")
        return list(CostAccessLimit.objects.filter(pk__in=assigned))


def limit_of_membership(membership: Membership) -> CostAccessLimit | None:
    """The limit of a member; None for admins. One query."""
    if membership.role not in LIMIT_ROLES:
        return None
    with account_scope(membership.account):
        return CostAccessLimit.objects.filter(assignments__membership=membership).first()


def limited_addresses(account: Account) -> set[str]:
    """Email addresses, in small letters, of members with limited cost access and of former members who had it:
    figures of the whole account are not mailed to them. One query."""
    # Unscoped: the pages of addresses have no account in scope.
    rows = CostAccessAssignment.objects.unscoped().filter(
        account=account, membership__isnull=False, membership__role__in=LIMIT_ROLES
    )
    members = rows.values_list("membership__user__email", "membership__user__emailaddress__email")
    former = FormerMemberLimit.objects.unscoped().filter(account=account)
    pairs = members.union(former.values_list("user__email", "user__emailaddress__email"))
    return {email.lower() for pair in pairs for email in pair if email}
