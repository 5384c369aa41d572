"""The “?” beside a label, which opens a term of the glossary: `{% help "unit-cost" %}`. finops/help/terms.py has the
terms."""

from __future__ import annotations

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from finops.help.terms import TERMS

register = template.Library()


@register.simple_tag(takes_context=True)
def help(context: template.Context, anchor: str) -> SafeString:  # noqa: A001 the tag's name
    """Render a link to the term; static/js/help.js shows the term in a popover. Empty without an account. Raises
    KeyError for an unknown term."""
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
    """Return the URL of the term's section of “How we count”; empty if it has none."""
    return f"{reverse('how_we_count', kwargs={'slug': slug})}#{section}" if section else ""
