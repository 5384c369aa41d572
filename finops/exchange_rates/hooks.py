"""Registrations of exchange rates with other apps: the currency of pages, and the rates in lists' CSVs."""

from __future__ import annotations

from accounts.page_access import page_scopes
from finops.exchange_rates.pages import page_currency
from finops.exchange_rates.rates_column import rates_column
from finops.lib.listing import common_columns

page_scopes.add("currency", page_currency)
common_columns.add("exchange rates", rates_column)
