"""The “?” beside a label, which opens a term of the glossary: `{% help "unit-cost" %}`. The terms are in finops/help/terms.py."""

from __future__ import annotations

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from finops.help.terms import TERMS

register = template.Library()


@register.simple_tag(takes_context=True)
def help(context: template.Context, anchor: str) -> SafeString:  # noqa: A001 the tag's name
    """A link to the term; static/js/help.js shows it in a popover. Nothing without an account. KeyError for no term of ours."""
    term = TERMS[anchor]
    account = context.get("account")
    if account is None:
        return SafeString("")
    return format_html(
        '<a class="help" href="{}#{}" data-help="{}" data-help-title="{}" data-help-more="{}" aria-label="What is “{}”?">?</a>',
        reverse("help_glossary", kwargs={"slug": account.slug}),
        anchor,
        term.text,
        term.name,
        _more(account.slug, term.section),
        term.name,
    )


def _more(slug: str, section: str) -> str:
    """Where “How we count” says more; empty where it does not."""
    return f"{reverse('how_we_count', kwargs={'slug': slug})}#{section}" if section else ""
