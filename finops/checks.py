"""System checks that refuse an unsafe production. `manage.py check` shows them; the server does not start."""

from __future__ import annotations
