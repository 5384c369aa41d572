"""The HTML of emails: one layout beside the plain text, with the logo and charts as inline images (RFC 2392).

Tables with inline styles, because mail programs support little else. Dark mode uses `prefers-color-scheme`, where supported.
"""

from finops.lib.mail.files import MailWithFiles
from finops.lib.mail.html import attach_html, attach_text_as_html, chart_image, restore_html
from finops.lib.mail.images import InlineImage

__all__ = [
    "InlineImage",
    "MailWithFiles",
    "attach_html",
    "attach_text_as_html",
    "chart_image",
    "restore_html",
]
