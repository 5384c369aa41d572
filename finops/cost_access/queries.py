"""Reads about limited cost access."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

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
    """All limits, by name."""
    return CostAccessLimit.objects.filter(account=account)


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
        ~Exists(limited), account__in={row.account_id for row in memberships}
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


def limits_by_reader(account: Account) -> dict[tuple[str, int], CostAccessLimit]:
    """All assigned limits, by kind of reader (a field of the assignment) and its id. One query."""
    rows = CostAccessAssignment.objects.filter(account=account).select_related("limit")
    return {
        (name, pk): row.limit for row in rows for name in READER_FIELDS if (pk := getattr(row, f"{name}_id"))
    }


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
