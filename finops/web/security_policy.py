"""Content-Security-Policy of every page: only our own resources, and inline scripts and styles need the nonce of the
request."""

from __future__ import annotations

from typing import Final

from csp.constants import NONCE, NONE, SELF

DIRECTIVES_OF_PAGES: Final = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}
