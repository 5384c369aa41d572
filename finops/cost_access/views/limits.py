"""Settings → Cost access: limits, and their form with filters and preview. For admins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import Count
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import trigger_client_event

from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.cost_access.filter_words import words_of_limit
from finops.cost_access.forms import LimitForm
from finops.cost_access.limit_filters import DRAFT, alternative_rows, alternatives_from
from finops.cost_access.models import CostAccessLimit
from finops.cost_access.preview import preview_limit
from finops.cost_access.queries import limits
from finops.cost_access.readers import readers
from finops.cost_access.resolution import alternatives_of
from finops.cost_access.services import change_limit, create_limit, delete_limit
from finops.costs.dimensions import registry
from finops.costs.spend_query import CostFilter
from finops.costs.views.choices import OPS, dimension_choices
from finops.lake import queries as lake_queries
from finops.lib.errors import UserError
from finops.lib.listing import Column, ListPage


@dataclass(frozen=True)
class LimitRow:
    """A limit in the list; `words` has the texts of its alternatives."""

    limit: CostAccessLimit
    words: list[str]
    readers: int


LIMITS = ListPage[LimitRow](
    name="cost-access-limits",
    title="Cost access limits",
    noun="limit",
    order="name",
    page_rows=50,
    columns=[
        Column("name", "Name", lambda row: row.limit.name, row_header=True),
        Column("filters", "Filters", lambda row: ", or ".join(row.words), sortable=False),
        Column("readers", "Readers", lambda row: row.readers, numeric=True),
    ],
)


@account_page(Role.ADMIN)
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    rows = limits(request.account).annotate(readers=Count("assignments"))
    listed = [LimitRow(row, words_of_limit(row), vars(row)["readers"]) for row in rows]
    return LIMITS.response(request, listed, "cost_access/limits.html")


@account_page(Role.ADMIN)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    form = LimitForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with FormErrors(form):
            limit = create_limit(
                account=request.account,
                actor=request.actor,
                name=form.cleaned_data["name"],
                alternatives=_alternatives(request),
            )
            messages.success(request, f"{limit.name} created. Assign it to members, keys or apps.")
            return redirect("cost_access_readers", slug=request.account.slug)
    return _form_page(request, form)


@account_page(Role.ADMIN)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: AccountRequest, limit_id: int) -> HttpResponse:
    limit = get_object_or_404(limits(request.account).select_related("account"), pk=limit_id)
    form = LimitForm(request.POST if request.method == "POST" else None, initial={"name": limit.name})
    if request.method == "POST" and form.is_valid():
        with FormErrors(form):
            change_limit(
                limit=limit,
                actor=request.actor,
                name=form.cleaned_data["name"],
                alternatives=_alternatives(request),
                widens_creations=form.cleaned_data["widens_creations"],
            )
            messages.success(request, f"{form.cleaned_data['name']} saved. Its readers see the new cost now.")
            return redirect("cost_access", slug=request.account.slug)
    return _form_page(request, form, limit)


@account_page(Role.ADMIN)
@require_POST
def delete(request: AccountRequest, limit_id: int) -> HttpResponse:
    limit = get_object_or_404(limits(request.account).select_related("account"), pk=limit_id)
    with ErrorMessages(request):
        delete_limit(limit=limit, actor=request.actor)
        messages.success(request, f"{limit.name} deleted.")
    return redirect("cost_access", slug=request.account.slug)


@account_page(Role.ADMIN)
@require_safe
def preview(request: AccountRequest) -> HttpResponse:
    """Preview the cost of the last 30 days within the filters of the URL. Stores nothing."""
    context: dict[str, Any] = {}
    try:
        alternatives = alternatives_from(dict(request.GET.lists()))
        if alternatives:
            context["amounts"] = preview_limit(request.account, alternatives)
        context["has_filters"] = bool(alternatives)
    except UserError as problem:
        context["problem"] = problem.message
    return render(request, "cost_access/_preview.html", context)


def _alternatives(request: AccountRequest) -> list[list[CostFilter]]:
    return alternatives_from(dict(request.POST.lists()))


def _form_page(
    request: AccountRequest, form: LimitForm, limit: CostAccessLimit | None = None
) -> HttpResponse:
    """Render the form; for htmx, only the filters of the URL."""
    alternatives, problem = _form_filters(request, limit)
    dimensions = dimension_choices(
        registry.kinds(),
        lake_queries.tag_keys(request.account),
        [item.dimension for filters in alternatives for item in filters],
    )
    context: dict[str, Any] = {
        "form": form,
        "limit": limit,
        "problem": problem,
        "rows": alternative_rows(request.account, alternatives, dimensions),
        "dimensions": dimensions,
        "values_url": reverse("dimension_values", args=[request.account.slug]),
        "ops": OPS,
    }
    if limit is not None and not request.htmx:
        context["readers"] = _readers(request, limit)
    if request.htmx:
        answer = render(request, "cost_access/_limit_filters.html", context)
        return trigger_client_event(answer, "filter-change", after="swap")
    status = 400 if problem else 422 if form.errors else 200
    return render(request, "cost_access/limit_form.html", context, status=status)


def _readers(request: AccountRequest, limit: CostAccessLimit) -> dict[str, list[str]]:
    """The names of those whom a change of the limit concerns, by kind."""
    names: dict[str, list[str]] = {}
    for reader in readers(request.account):
        if limit in reader.limits:
            names.setdefault(reader.kind_label, []).append(reader.name or "Unnamed app")
    return names


def _form_filters(
    request: AccountRequest, limit: CostAccessLimit | None
) -> tuple[list[list[CostFilter]], str]:
    """The submitted filters, or those of the URL's draft, or the stored ones; and their errors."""
    params = request.POST if request.method == "POST" else request.GET
    stored = [list(filters) for filters in alternatives_of(limit)] if limit else []
    if request.method != "POST" and DRAFT not in params:
        return stored, ""
    try:
        return alternatives_from(dict(params.lists())), ""
    except UserError as problem:
        return stored, problem.message
