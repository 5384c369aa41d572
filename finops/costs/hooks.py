"""What costs add to accounts: files that go with an account."""

from __future__ import annotations

from accounts.services.deletion import account_files
from finops.costs.services.files import remove_of_account
from finops.costs.services.mapping_samples import remove_samples_of_account

account_files.add("costs", remove_of_account)
account_files.add("mapping samples", remove_samples_of_account)
