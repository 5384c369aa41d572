"""Pages of a source that programs push to with its own key: usage, change events, cost. Views of these apps call them
after the access check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from django import forms
from django.contrib import messages
from django.db import models
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse

from accounts.forms import ErrorMessages, FormErrors
from accounts.page_access import AccountRequest
from finops.lib.params import id_of

SourceT = TypeVar("SourceT", bound=models.Model)
KeyT = TypeVar("KeyT", bound=models.Model)


@dataclass(frozen=True, kw_only=True)
class SourceKeyPages(Generic[SourceT, KeyT]):
    """The key card of a source. `url_name` and `argument` are those of the source's page. `source_of` raises Http404
    for a source of another account. Errors of a service are messages on the source's page."""

    url_name: str
    argument: str
    source_of: Callable[[int], SourceT]
    generate_key: Callable[..., tuple[KeyT, str]]
    regenerate_key: Callable[..., tuple[KeyT, str]]
    revoke_key: Callable[..., object]
    key_page: Callable[[AccountRequest, SourceT, KeyT, str], HttpResponse]

    def generate(self, request: AccountRequest, source_id: int) -> HttpResponse:
        """Create the first key and show it: no other response contains its plaintext. A reload is refused, not
        repeated."""
        row = self.source_of(source_id)
        with ErrorMessages(request):
            key, plaintext = self.generate_key(source=row, actor=request.actor)
            return self.key_page(request, row, key, plaintext)
        return self.to_source(request, row)

    def regenerate(self, request: AccountRequest, source_id: int) -> HttpResponse:
        """Replace the key and show the new one, as `generate` does. The form names the replaced key, so a reload
        replaces none."""
        row = self.source_of(source_id)
        text = request.POST.get("replaces", "")
        replaces = (id_of(text) or 0) if text else None  # no key has ID 0, so an invalid ID replaces none
        with ErrorMessages(request):
            key, plaintext = self.regenerate_key(source=row, actor=request.actor, replaces=replaces)
            return self.key_page(request, row, key, plaintext)
        return self.to_source(request, row)

    def revoke(self, request: AccountRequest, source_id: int) -> HttpResponse:
        row = self.source_of(source_id)
        with ErrorMessages(request):
            self.revoke_key(source=row, actor=request.actor)
            messages.success(request, "Key revoked.")
        return self.to_source(request, row)

    def to_source(self, request: AccountRequest, row: SourceT) -> HttpResponse:
        arguments = {"slug": request.account.slug, self.argument: row.pk}
        return HttpResponseRedirect(reverse(self.url_name, kwargs=arguments))


@dataclass(frozen=True, kw_only=True)
class SourcePages(SourceKeyPages[SourceT, KeyT]):
    """Pages of a source that has a name and a key only. `source_page` renders the source, also with an invalid form."""

    form: type[forms.Form]
    new_template: str
    list_url_name: str
    deleted_with: str
    create_source: Callable[..., SourceT]
    rename_source: Callable[..., object]
    delete_source: Callable[..., object]
    source_page: Callable[..., HttpResponse]

    def new(self, request: AccountRequest) -> HttpResponse:
        form = self.form(request.POST or None)
        if form.is_valid():
            with FormErrors(form):
                row = self.create_source(
                    account=request.account, actor=request.actor, name=form.cleaned_data["name"]
                )
                return self.to_source(request, row)
        status = 422 if form.is_bound or request.method == "POST" else 200
        return render(request, self.new_template, {"form": form}, status=status)

    def rename(self, request: AccountRequest, source_id: int) -> HttpResponse:
        row, form = self.source_of(source_id), self.form(request.POST)
        if form.is_valid():
            with FormErrors(form):
                self.rename_source(source=row, actor=request.actor, name=form.cleaned_data["name"])
                messages.success(request, "Source renamed.")
                return self.to_source(request, row)
        return self.source_page(request, self.source_of(source_id), form=form, status=422)

    def delete(self, request: AccountRequest, source_id: int) -> HttpResponse:
        row = self.source_of(source_id)
        with ErrorMessages(request):
            self.delete_source(source=row, actor=request.actor)
            messages.success(request, f"Source {row} deleted with its {self.deleted_with}.")
        return redirect(self.list_url_name, slug=request.account.slug)
