from __future__ import annotations

import pytest

from tests.accounts.sso.scim.client import Scim, provisioned
from tests.cast import Cast


@pytest.fixture
def scim(cast: Cast) -> Scim:
    """Acme's provider, of example.com."""
    return provisioned(cast.account)
