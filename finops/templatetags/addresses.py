"""URLs on pages."""

from __future__ import annotations

import re

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.filter
def with_breaks(url: str) -> SafeString:
    """A URL whose line breaks before a slash of its path, not within a word."""
    parts = re.split(r"(?<![:/])(?=/)", url)
    return format_html_join(mark_safe("<wbr>"), "{}", ((part,) for part in parts))
