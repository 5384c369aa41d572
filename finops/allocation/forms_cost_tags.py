"""Forms of the cost tag pages."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from finops.allocation.models import CostTag
from finops.allocation.rules import CostTagDraft, read_draft, write_draft
from finops.allocation.rules.yaml import MAX_BYTES


class CostTagForm(forms.Form):
    """A cost tag as the editor sends it: `rules` is the JSON that cost-tag.js wrote."""

    key = forms.CharField(
        max_length=100,
        label="Key",
        help_text="Questions ask for cost_tag:<key>. It stays as you choose it.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={"required": "Give the cost tag a key, such as team or environment."},
    )
    default_value = forms.CharField(
        max_length=255,
        required=False,
        label="Default value",
        help_text="Of lines that no rule catches.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    description = forms.CharField(max_length=500, required=False, label="Description")
    rules = forms.CharField(required=False, widget=forms.HiddenInput)
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    @classmethod
    def of(cls, draft: CostTagDraft, *, version: int | None = None) -> CostTagForm:
        """The form as it stands before anybody touches it."""
        written = write_draft(draft)
        initial = {**written, "rules": json.dumps(written["rules"], ensure_ascii=False), "version": version}
        return cls(initial=initial)

    def keep_key(self, cost_tag: CostTag | None) -> CostTagForm:
        """What answers and links name stays: the key of a saved cost tag is shown, and cannot be written."""
        if cost_tag is not None:
            self.fields["key"].disabled = True
            self.initial["key"] = cost_tag.key
        return self

    def draft(self) -> CostTagDraft:
        """What a valid form says. Raises RuleError."""
        fields: dict[str, Any] = {
            name: self.cleaned_data[name] for name in ("key", "description", "default_value")
        }
        return read_draft({**fields, "rules": self.cleaned_data["rules"]})

    def clean_rules(self) -> Any:
        try:
            return json.loads(self.cleaned_data["rules"] or "[]")
        except (ValueError, RecursionError) as error:
            raise ValidationError("The rules could not be read. Reload the page and try again.") from error


class YamlForm(forms.Form):
    """A cost tag as a YAML file, uploaded or pasted."""

    file = forms.FileField(
        required=False,
        label="YAML file",
        widget=forms.ClearableFileInput(attrs={"accept": ".yaml,.yml,text/yaml,text/plain"}),
    )
    text = forms.CharField(
        required=False,
        label="Or paste it",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "false", "class": "font-monospace"}),
    )

    def clean_file(self) -> str:
        """The text of the file; empty without one."""
        file = self.cleaned_data["file"]
        if file is None:
            return ""
        if file.size > MAX_BYTES:
            raise ValidationError(f"The file has {file.size:,} bytes; rules have at most {MAX_BYTES:,}.")
        try:
            return str(file.read().decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise ValidationError("The file is not UTF-8 text.") from error

    def clean(self) -> dict[str, Any]:
        """`yaml` is what was uploaded, else what was pasted."""
        data = super().clean() or {}
        data["yaml"] = data.get("file") or data.get("text") or ""
        if not data["yaml"].strip() and not self.errors:
            raise ValidationError("Choose a file, or paste the rules.")
        return data
