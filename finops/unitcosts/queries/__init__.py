"""Reads about unit cost, the same for tool and page. The account must be in scope."""

from finops.unitcosts.queries.customers import customer_key
from finops.unitcosts.queries.fold import fit_to_size
from finops.unitcosts.queries.unit_cost import query_unit_cost

__all__ = ["customer_key", "fit_to_size", "query_unit_cost"]
