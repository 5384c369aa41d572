"""The page of a team: its cost by service, members and owned values. Members of the account can change it."""

from __future__ import annotations

from datetime import date
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from msgspec import structs

from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Membership, Role
from accounts.page_access import AccountRequest, account_page
from finops.allocation.forms import TeamForm
from finops.allocation.models import Team, TeamMember, TeamValue
from finops.allocation.queries.team_values import DAYS, OwnedValue, owned_values, unowned_values
from finops.allocation.queries.teams import team_infos, team_key
from finops.allocation.services.teams import (
    add_team_member,
    change_team,
    delete_team,
    release_value,
    remove_team_member,
)
from finops.allocation.team_panels import panels_of
from finops.costs.charts import marked_tables, series_tables
from finops.costs.dependants import deletion_impact_text
from finops.costs.queries import query_spend
from finops.costs.queries.sources import Sources, load_sources
from finops.costs.spend_query import Filter, month_so_far
from finops.lib.errors import UserError
from finops.lib.listing import Column, ListPage, csv_of, wants_csv
from finops.lib.periods import add_months

TREND_MONTHS = 12
TREND_SERVICES = 6
SERVICES = 8
PAGE_ROWS = 100
PICKED = 500
"""The maximum of account members that the field offers."""

VALUES = ListPage[OwnedValue](
    name="values",
    title="Values",
    noun="value",
    order="-cost",
    page_rows=PAGE_ROWS,
    actions="Remove",
    columns=[
        Column("value", "Value", lambda row: row.value),
        Column("label", "Name", lambda row: row.label, shown=False),
        Column(
            "cost",
            f"Cost of the last {DAYS} days",
            lambda row: row.amounts[0].amount if row.amounts else None,
            numeric=True,
        ),
        Column(
            "currency", "Currency", lambda row: row.amounts[0].currency if row.amounts else "", shown=False
        ),
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest, team_id: int) -> HttpResponseBase:
    """Render the team's page. `?find=` searches the values without an owner; the CSV lists the team's values."""
    team = _team(team_id)
    sources, key = load_sources(request.account), team_key(request.account)
    newest, find = sources.coverage.last_day, request.GET.get("find", "").strip()
    context: dict[str, Any] = {"team": team, "key": key, "newest": newest, "days": DAYS, "find": find}
    values = [OwnedValue(each.pk, each.value) for each in team.values.all()]
    try:
        if newest and key:
            values = owned_values(request.account, team, key, sources, newest)
            if not wants_csv(request):
                context["unowned"] = unowned_values(request.account, key, sources, newest, search=find)
                context |= _figures(request, team, sources, newest)
    except UserError as problem:
        context["error"] = problem.message
    shown = VALUES.listing(request, values)
    if wants_csv(request):
        return csv_of(f"values-of-{team.name}", VALUES.columns, shown.matches)
    context |= {"listing": shown, "panels": panels_of(request.account, team), **_people(request, team)}
    return render(request, "allocation/team.html", context)


def _team(team_id: int) -> Team:
    return get_object_or_404(Team.objects.all(), pk=team_id)


def _figures(request: AccountRequest, team: Team, sources: Sources, newest: date) -> dict[str, Any]:
    """Four lake queries: the month by service with its comparison, the trend, and the filter's value for each."""
    team_filters = [Filter(dimension="team", values=[team.name])]
    month = month_so_far(
        newest, group_by=["service"], filters=team_filters, compare_to="previous_period", limit=SERVICES
    )
    spent = query_spend(request.account, month, sources=sources)
    trend = structs.replace(
        month,
        period=None,
        start_date=add_months(spent.period.start_date, -TREND_MONTHS),
        end_date=spent.period.end_date,
        granularity="month",
        compare_to="none",
        limit=TREND_SERVICES,
    )
    shown = query_spend(request.account, trend, sources=sources)
    tables, markers = marked_tables(series_tables(shown), shown, team_filters)
    return {
        "spent": spent,
        "explorer": month.to_params(),
        "tables": tables,
        "markers": markers,
        "trend_params": trend.to_params(),
    }


def _people(request: AccountRequest, team: Team) -> dict[str, Any]:
    """Return the team's members and the account members who can join. Four queries."""
    (info,) = team_infos(request.account, [team])
    inside = {person.email for person in info.people}
    members = (
        Membership.objects.filter(account=request.account).select_related("user").order_by("user__name", "pk")
    )
    non_members = [each for each in members[:PICKED] if each.user.email not in inside]
    return {"people": info.people, "others": non_members}


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: AccountRequest, team_id: int) -> HttpResponse:
    team = _team(team_id)
    form = TeamForm(request.POST) if request.method == "POST" else TeamForm.of(team)
    if request.method == "POST" and form.is_valid():
        with FormErrors(form):
            change_team(team=team, actor=request.actor, **form.cleaned_data)
            messages.success(request, _rename_message(team.name, form.cleaned_data["name"]))
            return redirect("team", slug=request.account.slug, team_id=team.pk)
    context = {"form": form, "team": team, "going_with_it": partial(deletion_impact_text, team)}
    return render(request, "allocation/team_form.html", context, status=422 if form.errors else 200)


def _rename_message(before: str, after: str) -> str:
    if before == after:
        return f"{after} is saved."
    return f"{before} renamed to {after}. Saved filters keep the old name."


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, team_id: int) -> HttpResponse:
    team = _team(team_id)
    with ErrorMessages(request):
        delete_team(team=team, actor=request.actor)
        messages.success(request, f"{team.name} deleted. Its values no longer have a team.")
        return redirect("teams", slug=request.account.slug)
    return redirect("team", slug=request.account.slug, team_id=team.pk)


@account_page(Role.MEMBER)
@require_POST
def add_member(request: AccountRequest, team_id: int) -> HttpResponse:
    team = _team(team_id)
    email = request.POST.get("email", "").strip()
    membership = Membership.objects.filter(account=request.account, user__email__iexact=email).first()
    with ErrorMessages(request):
        if membership is None:
            raise UserError(f"No member has the email {email[:100]!r}. Invite people on the Members page.")
        add_team_member(team=team, actor=request.actor, membership=membership)
        messages.success(request, f"Added {membership.user.label} to {team.name}.")
    return redirect("team", slug=request.account.slug, team_id=team.pk)


@account_page(Role.MEMBER)
@require_POST
def remove_member(request: AccountRequest, team_member_id: int) -> HttpResponse:
    member = get_object_or_404(
        TeamMember.objects.select_related("account", "team", "membership__user"), pk=team_member_id
    )
    remove_team_member(member=member, actor=request.actor)
    messages.success(request, f"Removed {member.membership.user.label} from {member.team.name}.")
    return redirect("team", slug=request.account.slug, team_id=member.team_id)


@account_page(Role.MEMBER)
@require_POST
def release(request: AccountRequest, team_value_id: int) -> HttpResponse:
    owned = get_object_or_404(TeamValue.objects.select_related("account", "team"), pk=team_value_id)
    release_value(owned=owned, actor=request.actor)
    messages.success(request, f"“{owned.value}” no longer has a team.")
    return redirect("team", slug=request.account.slug, team_id=owned.team_id)
