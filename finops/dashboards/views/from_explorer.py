"""A question of the cost explorer as a widget of a dashboard."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.forms import FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.costs.spend_query import CostFilter, SpendQuery
from finops.dashboards import services
from finops.dashboards.layouts import WidgetDraft
from finops.dashboards.models import Dashboard
from finops.dashboards.queries import dashboards_of
from finops.dashboards.undo import undoable
from finops.dashboards.widgets import CATALOGUE
from finops.dashboards.widgets.spend_over_time import SpendOverTimeConfig
from finops.lib.errors import UserError
from finops.lib.periods import DEFAULT_PERIOD
from finops.lib.url_query import query_from_params

MAX_TOP: Final = 25
NOT_KEPT: Final = {
    "start_date": "custom dates (the widget shows the last 30 days)",
    "compare_to": "comparison",
    "measure": "measure",
    "charge_categories": "charge categories",
    "spread": "spread monthly charges",
}


class AddToDashboardForm(forms.Form):
    dashboard: forms.ModelChoiceField[Dashboard] = forms.ModelChoiceField(queryset=None, empty_label=None)
    title = forms.CharField(max_length=100, required=False)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def add(request: AccountRequest) -> HttpResponse:
    """Choose the board for the question of the URL."""
    try:
        query = query_from_params(dict(request.GET.lists()), SpendQuery(period=DEFAULT_PERIOD))
    except UserError as problem:
        messages.error(request, problem.message)
        return redirect("cost_explorer", slug=request.account.slug)
    form = AddToDashboardForm(request.POST or None)
    boards = dashboards_of(request.user)
    field: Any = form.fields["dashboard"]
    field.queryset = boards
    if request.method == "POST" and form.is_valid():
        with FormErrors(form):
            dashboard = form.cleaned_data["dashboard"]
            draft = widget_of_question(query, form.cleaned_data["title"])
            with undoable(request.session, dashboard, f"Added “{draft.shown_title}”"):
                services.add_widget(dashboard=dashboard, actor=request.actor, widget=draft)
            messages.success(request, f"Widget added to {dashboard.name}.")
            return redirect("dashboard", slug=request.account.slug, dashboard_id=dashboard.pk)
    context = {"form": form, "boards": boards, "not_kept": _omissions(query)}
    return render(request, "dashboards/from_explorer.html", context, status=422 if form.is_bound else 200)


def widget_of_question(query: SpendQuery, title: str = "") -> WidgetDraft:
    """Return a widget with the question's days, filters and first group over time."""
    config = SpendOverTimeConfig(
        period=query.period or DEFAULT_PERIOD,
        filters=[
            CostFilter(dimension=item.dimension, op=item.op, values=item.values) for item in query.filters
        ],
        basis=query.basis,
        granularity="day" if query.granularity == "none" else query.granularity,
        group_by=query.group_by[:1],
        limit=min(query.limit, MAX_TOP),
        splits=query.splits,
    )
    return WidgetDraft(type=CATALOGUE["spend_over_time"], config=config, title=title.strip())


def _omissions(query: SpendQuery) -> list[str]:
    """Return the parts of the question that such a widget cannot have, in words."""
    params = query.to_params()
    words = [text for name, text in NOT_KEPT.items() if name in params]
    return [*words, *(["second group"] if len(query.group_by) > 1 else [])]
