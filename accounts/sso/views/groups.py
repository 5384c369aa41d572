"""Group mappings of the account."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from accounts.forms import FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from accounts.sso.forms import GroupMappingForm
from accounts.sso.models import GroupMapping
from accounts.sso.services import add_group_mapping, remove_group_mapping
from accounts.sso.views.providers import index_page


@account_page(Role.ADMIN)
@require_POST
def add(request: AccountRequest) -> HttpResponse:
    form = GroupMappingForm(request.POST, account=request.account)
    if form.is_valid():
        with FormErrors(form):
            add_group_mapping(account=request.account, actor=request.actor, **form.cleaned_data)
            messages.success(request, "Group mapping added.")
            return redirect("identity_providers", slug=request.account.slug)
    return index_page(request, form)


@account_page(Role.ADMIN)
@require_POST
def remove(request: AccountRequest, group_mapping_id: int) -> HttpResponse:
    row = get_object_or_404(GroupMapping.objects.select_related("account"), pk=group_mapping_id)
    remove_group_mapping(row=row, actor=request.actor)
    messages.success(request, "Group mapping removed.")
    return redirect("identity_providers", slug=request.account.slug)
