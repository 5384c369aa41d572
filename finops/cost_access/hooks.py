"""Registrations of limited cost access with the access checks of accounts."""

from __future__ import annotations

from accounts.page_access import member_annotations, page_refusals, page_scopes
from accounts.reader_limits import ReaderLimit, reader_limits
from finops.cost_access.creations import inherit_limit, narrow_members
from finops.cost_access.pages import page_access, refuse_page
from finops.cost_access.queries import (
    limit_choices,
    limit_id_of_member,
    limit_of_provider,
    narrowed_by_role,
    own_limit_choices,
)
from finops.cost_access.services import (
    accept_invitation_limit,
    assign_choice,
    join_limit,
    leave_limit,
)

page_scopes.add("cost access", page_access)
page_refusals.add("cost access", refuse_page)
member_annotations.add("cost_limit_id", limit_id_of_member)
reader_limits.add(
    "cost access",
    ReaderLimit(
        label="Cost access",
        choices=limit_choices,
        assign=assign_choice,
        accept=accept_invitation_limit,
        join=join_limit,
        leave=leave_limit,
        of_provider=limit_of_provider,
        own_choices=own_limit_choices,
        has_readers="EXISTS (SELECT FROM cost_access_costaccessassignment l WHERE l.account_id = a.id)",
        inherit=inherit_limit,
        narrow=narrow_members,
        narrowed=narrowed_by_role,
    ),
)
