from __future__ import annotations

import pytest

from tests.accounts.sso.scim.client import Scim, create_scim
from tests.cast import Cast


@pytest.fixture
def scim(cast: Cast) -> Scim:
    """Acme's provider, of example.com."""
    return create_scim(cast.account)
