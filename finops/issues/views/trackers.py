"""Issue trackers: the list, the page of one with its issues, its test, and its forms to create, change and delete."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.issues import services
from finops.issues.forms import TrackerForm
from finops.issues.models import IssueTracker
from finops.issues.queries import SavingIssueRow, TrackerRow, tracker_issues, trackers
from finops.issues.tracker_configs import config_of
from finops.issues.tracker_kinds import TRACKER_KINDS
from finops.lib.errors import UserError
from finops.lib.listing import Column, ListFilter, ListPage

TRACKERS = ListPage[TrackerRow](
    name="issue-trackers",
    title="Issue trackers",
    noun="tracker",
    order="name",
    filters=[ListFilter("kind", "Kind", "All kinds", IssueTracker.Kind.choices, lambda row: row.kind)],
    columns=[
        Column("name", "Tracker", lambda row: row.name),
        Column("kind", "Kind", lambda row: row.kind_label, css="nowrap"),
        Column("target", "Creates issues in", lambda row: row.target, css="cell-name"),
        Column("open", "Open issues", lambda row: row.open_issues, numeric=True),
        Column("issues", "Issues", lambda row: row.issues, numeric=True),
        Column("polled", "Last updated", lambda row: row.polled_at, format="ago", css="nowrap"),
        Column("error", "Problem", lambda row: row.error, shown=False),
        Column("tested", "Last successful test", lambda row: row.tested_at, shown=False),
        Column("by", "Created by", lambda row: row.created_by, shown=False),
        Column("created", "Created", lambda row: row.created_at, shown=False),
        Column("id", "Id", lambda row: row.id, shown=False),
    ],
)

ISSUES = ListPage[SavingIssueRow](
    name="saving-issues",
    title="Issues",
    noun="issue",
    order="-created",
    columns=[
        Column("key", "Issue", lambda row: row.key or row.state, css="nowrap"),
        Column("saving", "Saving", lambda row: row.title, css="cell-name", row_header=True),
        Column("state", "State", lambda row: row.state, css="nowrap"),
        Column("status", "Tracker status", lambda row: row.status),
        Column("note", "Note", lambda row: row.note, shown=False),
        Column("url", "URL", lambda row: row.url, shown=False),
        Column("created", "Created", lambda row: row.created_at, format="ago", css="nowrap"),
        Column("by", "Created by", lambda row: row.created_by, shown=False),
        Column("closed", "Closed", lambda row: row.closed_at, shown=False),
        Column("checked", "Last updated", lambda row: row.checked_at, shown=False),
        Column("saving_id", "Saving id", lambda row: row.saving_key, shown=False),
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """List the trackers; `?kind=` filters the list."""
    return TRACKERS.response(request, trackers(request.account), "issues/trackers.html")


@account_page()
@require_safe
def page(request: AccountRequest, tracker_id: int) -> HttpResponseBase:
    tracker = _tracker(tracker_id)
    context = {"tracker": tracker, "target": config_of(tracker).shown, "kind": TRACKER_KINDS[tracker.kind]}
    return ISSUES.response(request, tracker_issues(tracker), "issues/tracker.html", context)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    """Show the kinds to choose from; with `?kind=` its form. A POST creates the tracker."""
    kind = request.GET.get("kind", "")
    if kind not in TRACKER_KINDS:
        return render(request, "issues/tracker_kinds.html", {"kinds": list(TRACKER_KINDS.values())})
    if request.method != "POST":
        return _form_page(request, TrackerForm(kind))
    form = TrackerForm(kind, request.POST)
    if form.is_valid():
        with FormErrors(form):
            tracker = services.create_tracker(
                account=request.account,
                actor=request.actor,
                name=form.cleaned_data["name"],
                kind=kind,
                config=form.config(),
                secret=form.cleaned_data["secret"],
            )
            messages.success(request, f"Tracker “{tracker.name}” created. Test it before you use it.")
            return redirect("issue_tracker", slug=request.account.slug, tracker_id=tracker.pk)
    return _form_page(request, form, status=422)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: AccountRequest, tracker_id: int) -> HttpResponse:
    tracker = _tracker(tracker_id)
    if request.method != "POST":
        first = {"name": tracker.name, **tracker.config}
        return _form_page(request, TrackerForm(tracker.kind, tracker=tracker, initial=first))
    form = TrackerForm(tracker.kind, request.POST, tracker=tracker)
    if form.is_valid():
        with FormErrors(form):
            services.change_tracker(
                tracker=tracker,
                actor=request.actor,
                name=form.cleaned_data["name"],
                config=form.config(),
                secret=form.cleaned_data["secret"],
            )
            messages.success(request, "Tracker saved.")
            return redirect("issue_tracker", slug=request.account.slug, tracker_id=tracker.pk)
    return _form_page(request, form, status=422)


@account_page(Role.MEMBER)
@require_POST
def test(request: AccountRequest, tracker_id: int) -> HttpResponse:
    """Test the tracker now, up to a few times 15 s. Returns a part of the page for htmx, else the page again."""
    tracker = _tracker(tracker_id)
    context: dict[str, Any] = {"tracker": tracker}
    try:
        findings = services.test_tracker(tracker=tracker, actor=request.actor)
        context["findings"] = findings
        context["problem_count"] = sum(not each.ok for each in findings)
    except UserError as error:
        context["refused"] = error.message
    if request.htmx:
        return render(request, "issues/_test.html", context)
    for each in context.get("findings", []):
        if each.problem:
            messages.error(request, f"{each.label}: {each.problem}")
    if "refused" in context:
        messages.error(request, context["refused"])
    elif not context["problem_count"]:
        messages.success(request, "The connection works.")
    return redirect("issue_tracker", slug=request.account.slug, tracker_id=tracker.pk)


@account_page(Role.MEMBER)
@require_POST
def refresh(request: AccountRequest, tracker_id: int) -> HttpResponse:
    """Read the states of its issues now, in a worker."""
    tracker = _tracker(tracker_id)
    services.request_poll(tracker=tracker)
    messages.success(request, "Updating statuses.")
    return redirect("issue_tracker", slug=request.account.slug, tracker_id=tracker.pk)


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, tracker_id: int) -> HttpResponse:
    tracker = _tracker(tracker_id)
    with ErrorMessages(request):
        services.delete_tracker(tracker=tracker, actor=request.actor)
        messages.success(request, f"Tracker “{tracker.name}” deleted. Its issues stay in the tracker.")
    return redirect("issue_trackers", slug=request.account.slug)


def _tracker(pk: int) -> IssueTracker:
    """Return the tracker of the account in scope; 404 for another's."""
    return get_object_or_404(IssueTracker.objects.select_related("account", "created_by"), pk=pk)


def _form_page(request: AccountRequest, form: TrackerForm, *, status: int = 200) -> HttpResponse:
    kind = TRACKER_KINDS[form.kind]
    context = {"form": form, "edited": form.tracker, "kind": kind, "noun": "tracker"}
    return render(request, "issues/tracker_form.html", context, status=status)
