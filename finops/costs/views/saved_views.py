"""Saved views of the cost explorer: the list, its menu, and the actions to save, rename and delete."""

from __future__ import annotations

from functools import partial
from typing import Final

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Role, User
from accounts.page_access import AccountRequest, account_page
from finops.costs.dependants import deletion_impact_text
from finops.costs.models import SavedView
from finops.costs.queries.saved_views import saved_views_of
from finops.costs.services.saved_views import (
    change_saved_view,
    create_saved_view,
    delete_saved_view,
    replace_saved_question,
)
from finops.costs.spend_query import SpendQuery
from finops.costs.views.explorer import SavedViewPage
from finops.lib.errors import UserError
from finops.lib.listing import Column, ListPage
from finops.lib.url_query import query_from_params

SHARED: Final = "shared"
WHO: Final = [(SHARED, "Everyone in the account"), ("mine", "Only me")]

VIEWS = ListPage[SavedView](
    name="saved-views",
    title="Saved views",
    noun="saved view",
    order="name",
    columns=[
        Column("name", "View", lambda row: row.name),
        Column("who", "Visible to", lambda row: "Everyone" if row.is_shared else "Only you", css="nowrap"),
        Column("by", "Created by", lambda row: row.created_by.email if row.created_by else ""),
        Column("changed", "Updated", lambda row: row.changed_at, format="ago", css="nowrap"),
    ],
)


class SavedViewForm(forms.Form):
    name = forms.CharField(max_length=100, error_messages={"required": "Enter a name."})
    who = forms.ChoiceField(
        label="Visible to", choices=WHO, widget=forms.RadioSelect, initial="mine", required=False
    )

    def owner(self, user: User) -> User | None:
        """Return the owner; None for a shared view."""
        return None if self.cleaned_data["who"] == SHARED else user


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    return VIEWS.response(request, list(saved_views_of(request.user)), "costs/saved_views.html")


@account_page()
@require_safe
def menu(request: AccountRequest) -> HttpResponse:
    """Render the explorer's menu when it is opened."""
    return render(request, "costs/_saved_view_menu.html", {"views": saved_views_of(request.user)})


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    """Save the question of the URL."""
    form = SavedViewForm(request.POST or None)
    try:
        query = query_from_params(dict(request.GET.lists()), SpendQuery())
    except UserError as problem:
        messages.error(request, problem.message)
        return redirect("cost_explorer", slug=request.account.slug)
    if request.method != "POST" or not form.is_valid():
        return _form_page(request, form)
    with FormErrors(form):
        view = create_saved_view(
            account=request.account,
            actor=request.actor,
            name=form.cleaned_data["name"],
            query=query,
            owner=form.owner(request.user),
        )
        messages.success(request, f"View “{view.name}” saved.")
        return redirect("saved_view", slug=request.account.slug, saved_view_id=view.pk)
    return _form_page(request, form)


@account_page()
@require_safe
def show(request: AccountRequest, saved_view_id: int) -> HttpResponseBase:
    """Render the cost explorer with the view's question."""
    return SavedViewPage(request, _view_of(request, saved_view_id)).response()


@account_page(Role.MEMBER)
@require_POST
def update(request: AccountRequest, saved_view_id: int) -> HttpResponse:
    """Replace the view's question by that of the URL."""
    view = _view_of(request, saved_view_id)
    with ErrorMessages(request):
        query = query_from_params(dict(request.GET.lists()), view.query)
        replace_saved_question(view=view, actor=request.actor, query=query)
        messages.success(request, f"View “{view.name}” updated.")
    return redirect("saved_view", slug=request.account.slug, saved_view_id=view.pk)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: AccountRequest, saved_view_id: int) -> HttpResponse:
    view = _view_of(request, saved_view_id)
    initial = {"name": view.name, "who": SHARED if view.is_shared else "mine"}
    form = SavedViewForm(request.POST or None, initial=initial)
    if request.method != "POST" or not form.is_valid():
        return _form_page(request, form, view)
    with FormErrors(form):
        owner = form.owner(request.user)
        change_saved_view(view=view, actor=request.actor, name=form.cleaned_data["name"], owner=owner)
        messages.success(request, "View updated.")
        return redirect("saved_views", slug=request.account.slug)
    return _form_page(request, form, view)


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, saved_view_id: int) -> HttpResponse:
    view = _view_of(request, saved_view_id)
    with ErrorMessages(request):
        delete_saved_view(view=view, actor=request.actor)
        messages.success(request, f"View “{view.name}” deleted.")
    return redirect("saved_views", slug=request.account.slug)


def _view_of(request: AccountRequest, saved_view_id: int) -> SavedView:
    return get_object_or_404(saved_views_of(request.user), pk=saved_view_id)


def _form_page(request: AccountRequest, form: SavedViewForm, view: SavedView | None = None) -> HttpResponse:
    context = {
        "form": form,
        "view": view,
        "going_with_it": partial(deletion_impact_text, view) if view else "",
    }
    return render(request, "costs/saved_view_form.html", context, status=422 if form.is_bound else 200)
