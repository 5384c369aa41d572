"""The form of an issue tracker, by its kind."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.forms import BoundField

from finops.issues.models import IssueTracker
from finops.issues.tracker_configs import MAX_SECRET, NOT_PLANNED

Kind = IssueTracker.Kind


def _text(label: str, help_text: str, missing: str = "", example: str = "") -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=300,
        required=bool(missing),
        help_text=help_text,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": example}),
        error_messages={"required": missing},
    )


def _fields(kind: str) -> dict[str, forms.CharField]:
    if kind == Kind.GITHUB:
        return {
            "repository": _text(
                "Repository", "Owner and name.", "Enter owner and repository.", "acme/infrastructure"
            ),
            "server_url": _text(
                "Server",
                "Address of GitHub Enterprise. Leave empty for github.com.",
                example="https://github.example.com",
            ),
        }
    if kind == Kind.JIRA:
        return {
            "site_url": _text(
                "Site",
                "Address of the Jira Cloud site.",
                "Enter the site's address.",
                "https://acme.atlassian.net",
            ),
            "email": _text(
                "Email", "Address of the API token's owner.", "Enter the email address.", "bot@acme.com"
            ),
            "project_key": _text(
                "Project key",
                "First part of an issue's key, as OPS in OPS-12.",
                "Enter the project's key.",
                "OPS",
            ),
            "issue_type": _text("Issue type", "Default: Task", example="Task"),
            "not_planned": _text(
                "Not planned",
                "Words in the resolution or status of issues that were closed and not done. Default: Jira's in English.",
                example=NOT_PLANNED,
            ),
        }
    return {
        "team_key": _text(
            "Team key", "First part of an issue's key, as ENG in ENG-12.", "Enter the team's key.", "ENG"
        )
    }


_SECRETS: Final = {
    Kind.GITHUB: "Fine-grained token",
    Kind.JIRA: "API token",
    Kind.LINEAR: "API key",
}


class TrackerForm(forms.Form):
    """The form of a tracker; `kind` decides the fields. An existing tracker keeps its token where that field is left empty;
    the token is never shown."""

    name = forms.CharField(
        max_length=100,
        help_text="Shown on savings.",
        error_messages={"required": "Enter a name."},
    )

    def __init__(self, kind: str, *args: Any, tracker: IssueTracker | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind, self.tracker = kind, tracker
        self.fields.update(_fields(kind))
        self.fields["secret"] = forms.CharField(
            label=_SECRETS[Kind(kind)],
            max_length=MAX_SECRET,
            required=tracker is None,
            widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
            help_text="Leave empty to keep the stored one."
            if tracker
            else "Stored encrypted and never shown again.",
            error_messages={"required": "Enter the token."},
        )

    @property
    def tracker_fields(self) -> list[BoundField]:
        return [self[name] for name in self.fields if name != "name"]

    def config(self) -> dict[str, object]:
        return {name: value for name, value in self.cleaned_data.items() if name not in ("name", "secret")}
