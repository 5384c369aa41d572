"""What costs add to accounts: files that go with an account."""

from __future__ import annotations

from accounts.services.deletion import account_files
from finops.costs.services.files import remove_of_account

account_files.add("costs", remove_of_account)
