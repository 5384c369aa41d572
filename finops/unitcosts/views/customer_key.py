"""Settings → Customer key: the values of cost that are customers, their other spellings, and the usage dimension of
each cost dimension. Members change it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.costs.dimensions import registry
from finops.costs.views.choices import dimension_choices
from finops.lake import queries as lake_queries
from finops.lib.errors import UserError
from finops.lib.listing import Column, Listing, ListPage, wants_csv
from finops.unitcosts.forms import AliasForm, CustomerKeyForm, UsageDimensionForm
from finops.unitcosts.models import CustomerAlias, UsageDimensionMapping
from finops.unitcosts.queries import customer_key
from finops.unitcosts.queries.customer_suggestions import customer_names, unmatched_values
from finops.unitcosts.services.customer_mappings import (
    add_customer_alias,
    map_usage_dimension,
    remove_customer_alias,
    set_customer_key,
    unmap_usage_dimension,
)
from ingestion.choices import shown_keys
from ingestion.usage_query import CUSTOMER

ALIASES = ListPage[CustomerAlias](
    name="customer-aliases",
    title="Aliases",
    noun="alias",
    order="value",
    actions="Actions",
    columns=[
        Column("value", "Value in the cost", lambda alias: alias.value),
        Column("customer", "Customer ID", lambda alias: alias.customer_id, css="cell-name"),
        Column("added", "Added", lambda alias: alias.created_at),
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    if wants_csv(request):
        return ALIASES.csv(_listing(request).matches)
    return _page(request, _key_form(request, initial=True), AliasForm())


@account_page(Role.MEMBER)
@require_POST
def choose(request: AccountRequest) -> HttpResponse:
    form = _key_form(request)
    if form.is_valid():
        with FormErrors(form):
            key = set_customer_key(
                account=request.account, actor=request.actor, dimension=form.cleaned_data["dimension"]
            )
            messages.success(request, f"Customer key set to {key.dimension}.")
            return redirect("customer_key", slug=request.account.slug)
    return _page(request, form, AliasForm())


@account_page(Role.MEMBER)
@require_POST
def add_alias(request: AccountRequest) -> HttpResponse:
    """Add an alias and redirect to the page in `next`, if that is one of this account."""
    form = AliasForm(request.POST)
    if form.is_valid():
        data = form.cleaned_data
        with FormErrors(form):
            add_customer_alias(
                account=request.account,
                actor=request.actor,
                value=data["value"],
                customer_id=data["customer_id"],
            )
            messages.success(request, f"Cost of “{data['value']}” now belongs to {data['customer_id']}.")
            return _back(request, data["next"])
    return _page(request, _key_form(request, initial=True), form)


@account_page(Role.MEMBER)
@require_POST
def remove_alias(request: AccountRequest, alias_id: int) -> HttpResponse:
    alias = get_object_or_404(CustomerAlias, pk=alias_id)
    remove_customer_alias(account=request.account, actor=request.actor, alias_id=alias.pk)
    messages.success(request, f"Alias “{alias.value}” removed.")
    return redirect("customer_key", slug=request.account.slug)


def _back(request: AccountRequest, url: str) -> HttpResponse:
    if url.startswith(f"/a/{request.account.slug}/") and _is_page_of_this_server(request, url):
        return redirect(url)
    return redirect("customer_key", slug=request.account.slug)


def _is_page_of_this_server(request: HttpRequest, url: str) -> bool:
    return url_has_allowed_host_and_scheme(url, allowed_hosts={request.get_host()})


def _key_form(request: AccountRequest, *, initial: bool = False) -> CustomerKeyForm:
    key = customer_key(request.account)
    kinds = [kind for kind in registry.kinds() if kind.name != CUSTOMER]
    choices = dimension_choices(kinds, lake_queries.tag_keys(request.account), [key] if key else [])
    form = CustomerKeyForm(None if initial else request.POST, initial={"dimension": key})
    field: Any = form.fields["dimension"]
    field.choices = [
        ("", "Choose…"),
        ("Tags", choices.tags),
        ("Dimensions", choices.plain),
        ("Bill", choices.of_bill),
    ]
    return form


def _listing(request: AccountRequest) -> Listing[CustomerAlias]:
    return ALIASES.listing(request, CustomerAlias.objects.all())


def settings_page(request: AccountRequest, *, mapping_form: UsageDimensionForm) -> HttpResponse:
    """Render the page with the form of a mapping as submitted."""
    return _page(request, _key_form(request, initial=True), AliasForm(), mapping_form)


def _page(
    request: AccountRequest,
    key_form: CustomerKeyForm,
    alias_form: AliasForm,
    mapping_form: UsageDimensionForm | None = None,
) -> HttpResponse:
    key = customer_key(request.account)
    names = customer_names(request.account)
    context = {
        "key": key,
        "key_form": key_form,
        "alias_form": alias_form,
        "listing": _listing(request),
        "names": names,
        "next": request.path,
        "mapping_form": mapping_form or UsageDimensionForm(),
        "mappings": UsageDimensionMapping.objects.all(),
        "usage_dimensions": ["customer", *shown_keys(lake_queries.dimension_keys(request.account))],
    }
    try:
        context["unmatched"] = unmatched_values(request.account, key, names) if key else []
    except UserError as problem:
        context["unmatched_error"] = problem.message
    refused = key_form.errors or alias_form.errors or (mapping_form and mapping_form.errors)
    status = 422 if refused else 200
    return render(request, "unitcosts/customer_key.html", context, status=status)


@account_page(Role.MEMBER)
@require_POST
def add_usage_dimension(request: AccountRequest) -> HttpResponse:
    form = UsageDimensionForm(request.POST)
    if form.is_valid():
        with FormErrors(form):
            mapping = map_usage_dimension(account=request.account, actor=request.actor, **form.cleaned_data)
            messages.success(
                request,
                (
                    f"Filters on {mapping.cost_dimension} now also apply to usage dimension "
                    f"{mapping.usage_dimension}."
                ),
            )
            return redirect("customer_key", slug=request.account.slug)
    return settings_page(request, mapping_form=form)


@account_page(Role.MEMBER)
@require_POST
def remove_usage_dimension(request: AccountRequest, mapping_id: int) -> HttpResponse:
    mapping = get_object_or_404(UsageDimensionMapping, pk=mapping_id)
    unmap_usage_dimension(account=request.account, actor=request.actor, mapping_id=mapping.pk)
    messages.success(request, f"Mapping of {mapping.cost_dimension} removed.")
    return redirect("customer_key", slug=request.account.slug)
