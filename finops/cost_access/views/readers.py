"""Settings → Cost access → Readers: the limit of each member, key and connected app. For admins."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from accounts.creations import Creation, names_of
from accounts.forms import ErrorMessages
from accounts.models import MCPKey, Membership, OAuthConnection, Role
from accounts.page_access import AccountRequest, account_page
from finops.cost_access.creations import limit_connection, limit_creation, limit_key
from finops.cost_access.models import CostAccessAssignment, CostAccessLimit
from finops.cost_access.queries import LIMIT_ROLES, limits, narrowed_by
from finops.cost_access.readers import Reader, kind_labels, other_kinds, readers
from finops.cost_access.services import limit_member
from finops.lib.listing import Column, ListFilter, ListPage
from finops.lib.params import id_of

ALL_COST = "All cost"

READERS = ListPage[Reader](
    name="cost-access-readers",
    title="Readers",
    noun="reader",
    page_rows=50,
    actions="Change",
    filters=[
        ListFilter(
            "kind",
            "Kind",
            "All kinds",
            list(kind_labels().items()),
            lambda row: row.kind,
        ),
        ListFilter(
            "access",
            "Cost access",
            "Any cost access",
            [("limited", "Limited"), ("all", ALL_COST)],
            lambda row: "limited" if row.limits else "all",
        ),
    ],
    columns=[
        Column("name", "Name", lambda row: row.name, row_header=True),
        Column("detail", "Detail", lambda row: row.detail, shown=False),
        Column("kind", "Kind", lambda row: row.kind_label, css="nowrap"),
        Column("limit", "Cost access", lambda row: row.limit_name or ALL_COST),
    ],
)


@account_page(Role.ADMIN)
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """List the readers. Admins and owners are not listed, since they see all cost."""
    context = {"limits": list(limits(request.account)), "all_cost": ALL_COST}
    return READERS.response(request, readers(request.account), "cost_access/readers.html", context)


@account_page(Role.ADMIN)
@require_POST
def change_member(request: AccountRequest, membership_id: int) -> HttpResponse:
    """Change a member's limit. If that limits what the member made, list it first and change the limit when it is
    confirmed."""
    rows = Membership.objects.select_related("user", "account").filter(account=request.account)
    row = get_object_or_404(rows, pk=membership_id)
    limit = _chosen_limit(request)
    creations = (
        narrowed_by(request.account, {row.user_id: limit}) if limit and row.role in LIMIT_ROLES else []
    )
    if limit is not None and creations and "confirmed" not in request.POST:
        context = {
            "title": f"Limit {row.user.label} to {limit.name}",
            "button": "Limit cost access",
            "person": row.user,
            "creations": names_of(creations),
            "fields": {"limit": limit.pk, "next": _back(request)},
            "back": _back(request),
        }
        return render(request, "accounts/narrowing.html", context)

    def assign(limit: CostAccessLimit | None) -> list[CostAccessLimit]:
        limit_member(membership=row, limit=limit, actor=request.actor)
        return [limit] if limit else []

    return _change(request, row.user.label, assign)


@account_page(Role.ADMIN)
@require_POST
def change_key(request: AccountRequest, key_id: int) -> HttpResponse:
    row = get_object_or_404(MCPKey.objects.select_related("account"), pk=key_id)
    return _change(request, row.name, lambda limit: limit_key(key=row, limit=limit, actor=request.actor))


@account_page()
@require_POST
def change_app(request: AccountRequest, connection_id: int) -> HttpResponse:
    """Change an app's limit. A person may limit an own app that has no limit; everything else is for admins. Raises
    PermissionDenied for others."""
    rows = OAuthConnection.objects.select_related("account", "application", "user", "service_account")
    row = get_object_or_404(rows, pk=connection_id)
    is_limited = CostAccessAssignment.objects.filter(connection=row).exists()
    if not request.membership.may(Role.ADMIN) and (is_limited or row.user_id != request.user.pk):
        raise PermissionDenied("Only admins and owners can change this cost access.")
    return _change(
        request,
        row.application.name if row.user is None else f"The app of {row.user.label}",
        lambda limit: limit_connection(connection=row, limit=limit, actor=request.actor),
    )


@account_page(Role.ADMIN)
@require_POST
def change_other(request: AccountRequest, /, kind: str, **ids: int) -> HttpResponse:
    """Change the limit of an export, schedule or alert; the name of the id depends on the kind."""
    (reader_id,) = ids.values()
    creation_kind = other_kinds()[kind]
    row = get_object_or_404(creation_kind.rows().select_related("account"), pk=reader_id)
    creation = Creation(creation_kind, row)
    return _change(
        request,
        creation.name,
        lambda limit: limit_creation(creation=creation, limit=limit, actor=request.actor),
    )


def _chosen_limit(request: AccountRequest) -> CostAccessLimit | None:
    """The limit that the form chose; None for all cost, and for a limit that does not exist in this account."""
    choice = request.POST.get("limit", "")
    return limits(request.account).filter(pk=id_of(choice) or 0).first() if choice else None


def _change(
    request: AccountRequest, name: str, assign: Callable[[CostAccessLimit | None], Sequence[CostAccessLimit]]
) -> HttpResponse:
    """Store the choice. Empty means all cost; without one, or with a limit that does not exist in this account, nothing
    changes."""
    limit = _chosen_limit(request)
    with ErrorMessages(request):
        if limit is None and request.POST.get("limit") != "":
            messages.error(request, "Choose a limit from the list.")
        else:
            names = " and ".join(each.name for each in assign(limit))
            messages.success(request, f"{name}: {f'limited to {names}' if names else 'all cost'}.")
    return redirect(_back(request))


def _back(request: AccountRequest) -> str:
    """Redirect to the page of this account that had the form."""
    back = request.POST.get("next", "")
    own = reverse("overview", args=[request.account.slug])
    if back.startswith(own) and url_has_allowed_host_and_scheme(back, allowed_hosts=None):
        return back
    return reverse("cost_access_readers", args=[request.account.slug])
