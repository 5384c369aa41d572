"""Registrations of costs with accounts: files to delete with an account."""

from __future__ import annotations

from accounts.services.deletion import account_files
from finops.costs.services.files import remove_of_account

account_files.add("costs", remove_of_account)
