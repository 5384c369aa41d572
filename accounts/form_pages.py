"""Pages of a form that adds rows to a list: rows that are entered, and rows of a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from accounts.forms import FormErrors
from accounts.page_access import AccountRequest


def form_page(request: AccountRequest, template: str, form: forms.Form) -> HttpResponse:
    """Return the page of a form; its status is 422 if the form has errors."""
    return render(request, template, {"form": form}, status=422 if form.errors else 200)


@dataclass(frozen=True, kw_only=True)
class UploadPage:
    """The page of a form with a `file` of rows. `upload` is the service that stores them and returns their number."""

    form: type[forms.Form]
    template: str
    list_url_name: str
    noun: str
    upload: Callable[..., int]

    def response(self, request: AccountRequest) -> HttpResponse:
        form = self.form(request.POST, request.FILES) if request.method == "POST" else self.form()
        if request.method == "POST" and form.is_valid():
            file = form.cleaned_data["file"]
            with FormErrors(form):
                count = self.upload(
                    account=request.account, actor=request.actor, content=file.read(), name=file.name or ""
                )
                messages.success(request, f"{count:,} {self.noun}{'s' * (count != 1)} uploaded.")
                return redirect(self.list_url_name, slug=request.account.slug)
        return form_page(request, self.template, form)
