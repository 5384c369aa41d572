"""Teams with their cost, and the values without an owner. Members of the account can change them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.allocation.forms import TeamForm, TeamKeyForm
from finops.allocation.models import Team
from finops.allocation.queries.team_values import unowned_values
from finops.allocation.queries.teams import TeamCost, TeamLine, team_infos, team_key, teams_with_costs
from finops.allocation.services.teams import create_team, own_value, set_team_key
from finops.costs.queries.sources import Sources, load_sources
from finops.exchange_rates.csv_columns import CsvRow, original_amounts
from finops.exchange_rates.pages import display_of_page
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.listing import Column, ListPage, csv_response, wants_csv
from finops.lib.params import id_of
from finops.lib.periods import add_months, month_start

PAGE_ROWS = 50


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """Render every team with its cost and, with a team key, the costliest values without an owner."""
    sources, key = load_sources(request.account), team_key(request.account)
    newest = sources.coverage.last_day
    context: dict[str, Any] = {"key": key, "newest": newest}
    lines, currencies = [], list[str]()
    try:
        if newest and key:
            costs = teams_with_costs(request.account, sources, newest)
            lines, currencies = costs.lines, costs.currencies
            context |= {"answer": costs.answer}
            context |= {"unowned": unowned_values(request.account, key, sources, newest)}
    except UserError as problem:
        context["error"] = problem.message
    lines = lines or [TeamLine(info.name, info, ()) for info in team_infos(request.account)]
    teams = [line.info for line in lines if line.info]
    declared = _list_page(currencies[:1])
    if wants_csv(request):
        return _csv(request, declared.listing(request, lines).matches, currencies, sources)
    context |= {"listing": declared.listing(request, lines if teams else []), "teams": teams}
    return render(request, "allocation/teams.html", context)


def _list_page(currency: list[str]) -> ListPage[TeamLine]:
    """Return the context of the list, sorted by the currency with the most cost."""
    money = [column for each in currency for column in _money(each)]
    return ListPage(
        name="teams",
        title="Teams",
        noun="team",
        order="-cost" if currency else "team",
        columns=[TEAM, *money, *ABOUT, *([TREND] if currency else [])],
        page_rows=PAGE_ROWS,
    )


def _csv_columns(currencies: list[str]) -> list[Column[TeamLine]]:
    return [TEAM, *(column for each in currencies for column in _money(each, f", {each}")), *ABOUT]


FIGURES = ("this month", "last month")


def _csv(
    request: AccountRequest, lines: Sequence[TeamLine], currencies: list[str], sources: Sources
) -> HttpResponseBase:
    newest = sources.coverage.last_day or clock.today()
    original = original_amounts(
        display_of_page(request),
        (add_months(month_start(newest), -1), newest),
        FIGURES,
        lines,
        ask=lambda: teams_with_costs(request.account, sources, newest).lines,
        rows=_amounts,
    )
    columns = _csv_columns(currencies)
    rows = (
        [*(column.value(line) for column in columns), *original.cells(line.name, original.target)]
        for line in lines
    )
    return csv_response("teams", [*(column.label for column in columns), *original.header], rows)


def _amounts(lines: Sequence[TeamLine]) -> Iterator[CsvRow]:
    for line in lines:
        for cost in line.costs:
            yield line.name, cost.currency, [cost.this_month, cost.last_month]


TEAM = Column[TeamLine]("team", "Team", lambda line: line.name)
TREND = Column[TeamLine]("trend", "Previous 12 months", lambda _line: None, sortable=False)
ABOUT: list[Column[TeamLine]] = [
    Column("people", "People", lambda line: [each.name for each in line.info.people] if line.info else []),
    Column("values", "Values", lambda line: len(line.info.values) if line.info else None, numeric=True),
    Column(
        "description", "Description", lambda line: line.info.description if line.info else "", shown=False
    ),
]


def _money(currency: str, suffix: str = "") -> list[Column[TeamLine]]:
    def of(figure: Callable[[TeamCost], Decimal | None]) -> Callable[[TeamLine], Decimal | None]:
        return lambda line: next((figure(each) for each in line.costs if each.currency == currency), None)

    return [
        Column("cost", f"This month{suffix}", of(lambda cost: cost.this_month), numeric=True),
        Column("change", f"Change{suffix}", of(_change), numeric=True),
        Column("last", f"Last month{suffix}", of(lambda cost: cost.last_month), numeric=True),
        Column("share", f"Share{suffix}", of(lambda cost: cost.share), numeric=True),
    ]


def _change(cost: TeamCost) -> Decimal | None:
    return cost.change.change if cost.change else None


@account_page()
@require_http_methods(["GET", "HEAD", "POST"])
def key(request: AccountRequest) -> HttpResponse:
    """Show and set the dimension whose values teams own. Raises PermissionDenied for a change by a viewer."""
    current_key = team_key(request.account)
    if request.method != "POST":
        return _key_page(request, TeamKeyForm.of(request.account, current_key))
    if not request.membership.may(Role.MEMBER):
        raise PermissionDenied("Requires the role Member.")
    form = TeamKeyForm.of(request.account, current_key, request.POST)
    if form.is_valid():
        with FormErrors(form):
            team_key_row = set_team_key(account=request.account, actor=request.actor, **form.cleaned_data)
            messages.success(request, f"Team key set to {team_key_row.dimension}.")
            return redirect("teams", slug=request.account.slug)
    return _key_page(request, form)


def _key_page(request: AccountRequest, form: TeamKeyForm) -> HttpResponse:
    return render(request, "allocation/team_key.html", {"form": form}, status=422 if form.errors else 200)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    form = TeamForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with FormErrors(form):
            team = create_team(account=request.account, actor=request.actor, **form.cleaned_data)
            messages.success(request, f"Team {team.name} created. Add its values and members.")
            return redirect("team", slug=request.account.slug, team_id=team.pk)
    return render(request, "allocation/team_form.html", {"form": form}, status=422 if form.errors else 200)


@account_page(Role.MEMBER)
@require_POST
def assign(request: AccountRequest) -> HttpResponse:
    """Assign the form's value to the form's team: the one-click action of the list of values."""
    team = get_object_or_404(Team.objects.all(), pk=id_of(request.POST.get("team", "")))
    value = request.POST.get("value", "")
    with ErrorMessages(request):
        own_value(team=team, actor=request.actor, value=value)
        messages.success(request, f"Cost of “{value}” now belongs to {team.name}, including past cost.")
    if request.POST.get("next") == "team":
        return redirect("team", slug=request.account.slug, team_id=team.pk)
    return redirect("teams", slug=request.account.slug)
