"""Settings → Customer key: which dimension of usage a dimension of cost is. Members change it."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from accounts.doors import AccountRequest, account_page
from accounts.forms import take_error
from accounts.models import Role
from finops.lib.errors import UserError
from finops.unitcosts.forms import UsageDimensionForm
from finops.unitcosts.models import UsageDimensionMapping
from finops.unitcosts.services.customer_mappings import map_usage_dimension, unmap_usage_dimension
from finops.unitcosts.views.customer_key import settings_page


@account_page(Role.MEMBER)
@require_POST
def add(request: AccountRequest) -> HttpResponse:
    form = UsageDimensionForm(request.POST)
    if form.is_valid():
        try:
            mapping = map_usage_dimension(account=request.account, actor=request.actor, **form.cleaned_data)
        except (UserError, ValidationError) as error:
            take_error(form, error)
        else:
            messages.success(
                request,
                f"Filters on {mapping.cost_dimension} apply to {mapping.usage_dimension} of usage from now on.",
            )
            return redirect("customer_key", slug=request.account.slug)
    return settings_page(request, mapping_form=form)


@account_page(Role.MEMBER)
@require_POST
def remove(request: AccountRequest, mapping_id: int) -> HttpResponse:
    mapping = get_object_or_404(UsageDimensionMapping, pk=mapping_id)
    unmap_usage_dimension(account=request.account, actor=request.actor, mapping_id=mapping.pk)
    messages.success(request, f"{mapping.cost_dimension} is no dimension of usage now.")
    return redirect("customer_key", slug=request.account.slug)
