"""The one page of the product that the made-up company is for: *Try with sample data* of the wizard."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from accounts.doors import AccountRequest, account_page
from accounts.forms import ErrorMessages
from accounts.models import Role


@account_page(Role.MEMBER)
@require_POST
def sample(request: AccountRequest) -> HttpResponse:
    from finops.demo.samples import create_sample_connection  # imported here: the generator is for this page alone

    with ErrorMessages(request):
        connection = create_sample_connection(account=request.account, actor=request.actor)
        sync = connection.syncs.order_by("pk")[0]
        return redirect("cost_sync", slug=request.account.slug, sync_id=sync.pk)
    return redirect("connections", slug=request.account.slug)
