"""Sending a saving to a tracker: the card of its page, and its buttons."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import ErrorMessages
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.insights.models import SavingsDismissal
from finops.insights.savings.text import OPEN
from finops.issues import services
from finops.issues.models import IssueTracker, SavingIssue
from finops.issues.panel import panel_context
from finops.lib.params import id_of


@account_page()
@require_safe
def panel(request: AccountRequest, saving_key: str) -> HttpResponse:
    """Return the card only, for a page while an issue is being created; 404 for a saving without stored data."""
    mark = SavingsDismissal.objects.filter(key=saving_key).first()
    context = panel_context(request.account, saving_key, mark.status if mark else OPEN)
    if mark is None and not context["issues"]:
        raise Http404
    return render(request, "issues/_saving_panel.html", {"panel": context})


@account_page(Role.MEMBER)
@require_POST
def create(request: AccountRequest, saving_key: str) -> HttpResponse:
    """Create an issue in the tracker with the id `tracker`."""
    tracker_id = id_of(request.POST.get("tracker", "")) or 0
    tracker = get_object_or_404(IssueTracker.objects.select_related("account"), pk=tracker_id)
    with ErrorMessages(request):
        issue, is_new = services.create_saving_issue(
            account=request.account, actor=request.actor, tracker=tracker, saving_key=saving_key
        )
        if is_new:
            messages.success(request, f"The issue is being created in {tracker.name}.")
        else:
            messages.info(request, f"Already in {tracker.name}: {issue.remote_key or 'being created'}.")
    return redirect("saving", slug=request.account.slug, saving_key=saving_key)


@account_page(Role.MEMBER)
@require_POST
def retry(request: AccountRequest, saving_issue_id: int) -> HttpResponse:
    issue = _issue(saving_issue_id)
    with ErrorMessages(request):
        services.retry_saving_issue(issue=issue, actor=request.actor)
        messages.success(request, "The issue is being created.")
    return redirect("saving", slug=request.account.slug, saving_key=issue.saving_key)


@account_page(Role.MEMBER)
@require_POST
def unlink(request: AccountRequest, saving_issue_id: int) -> HttpResponse:
    issue = _issue(saving_issue_id)
    with ErrorMessages(request):
        services.unlink_saving_issue(issue=issue, actor=request.actor)
        messages.success(request, "Unlinked. The issue stays in the tracker.")
    return redirect("saving", slug=request.account.slug, saving_key=issue.saving_key)


def _issue(pk: int) -> SavingIssue:
    """Return the issue of the account in scope; 404 for another's."""
    return get_object_or_404(SavingIssue.objects.select_related("tracker", "account"), pk=pk)
