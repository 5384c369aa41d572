"""What changed: the query of the tool `explainSpendChange`, its state in the URL, its answer as waterfall, table, CSV."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase
from django.views.decorators.http import require_safe

from accounts.page_access import AccountRequest, account_page
from finops.costs.views.choices import COMPARISONS
from finops.costs.views.query_page import COST_OPTIONS, CostQueryPage
from finops.exchange_rates.pages import display_of_page
from finops.insights.charts import waterfalls
from finops.insights.spend_change.queries import explain_spend_change
from finops.insights.spend_change.schemas import DEFAULT_GROUP, SpendChangeAnswer, SpendChangeQuery
from finops.insights.spend_change_csv import spend_change_csv


class SpendChangePage(CostQueryPage[SpendChangeQuery, SpendChangeAnswer]):
    """The question of the page What changed."""

    template = "insights/spend_change.html"
    result_template = "insights/_spend_change_result.html"
    first_query = SpendChangeQuery(period="last_month", group_by=[DEFAULT_GROUP])
    options, listed = COST_OPTIONS, "Drivers listed"
    own_choices = {
        "comparisons": [choice for choice in COMPARISONS if choice[0] != "none"],
        "tops": [(count, f"Top {count}") for count in (5, 10, 20, 30)],
    }

    def groups(self, query: SpendChangeQuery) -> list[str]:
        return query.group_by or [DEFAULT_GROUP]

    def answer(self, query: SpendChangeQuery) -> SpendChangeAnswer:
        return explain_spend_change(self.request.account, query)

    def result(self, query: SpendChangeQuery, answer: SpendChangeAnswer) -> dict[str, Any]:
        return {"waterfalls": waterfalls(answer)}

    def csv(self, query: SpendChangeQuery) -> HttpResponseBase:
        answer: SpendChangeAnswer = self.all_rows(query)
        display = display_of_page(self.request)
        return spend_change_csv(answer, display, ask=lambda: self.all_rows(query)).response()


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    return SpendChangePage(request).response()
