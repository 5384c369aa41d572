"""Registrations of exports with accounts: files that are deleted with an account."""

from __future__ import annotations

from accounts.services.deletion import account_files
from finops.exports.services import remove_of_account

account_files.add("exports", remove_of_account)
