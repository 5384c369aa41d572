"""What exchange rates add to the apps below them: the currency that pages are in."""

from __future__ import annotations

from accounts.doors import page_scopes
from finops.exchange_rates.pages import page_currency

page_scopes.add("currency", page_currency)
