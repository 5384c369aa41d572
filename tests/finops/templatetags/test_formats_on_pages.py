"""Amounts, shares and counts on pages: what was written wrongly once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.template import Context, Template
from django.test import Client

from accounts.models import Account
from finops.costs.models import CostSource
from finops.insights.anomalies.queries import open_anomalies
from finops.unitcosts.models import UnitMetric
from tests.cast import Cast, signed_in
from tests.factories.anomalies import add_anomaly
from tests.factories.costs import add_source, cost
from tests.factories.dashboards import create_board, widget
from tests.factories.usage import event, push_events
from tests.pages import get_page

pytestmark = pytest.mark.django_db


def render(template: str, **context: Any) -> str:
    return Template(template).render(Context(context))


def test_the_button_of_the_first_budget_names_its_amount(acme: Account, cast: Cast) -> None:
    first = date(2026, 1, 1)
    add_source(acme, [cost(first + timedelta(days=count), "7.30") for count in range(78)])

    html = signed_in(cast.member).get("/a/acme/budgets/").content.decode()

    button = re.search(r'<a class="btn btn-primary"[^>]*>([^<]*)</a>', html)
    assert button, "the button holds text alone: a flexible box drops spaces between text and elements"
    assert re.fullmatch(r"Create budget of \$\d+\.\d\d a month", button[1].strip())


def test_a_share_below_zero_is_drawn_from_the_other_end() -> None:
    bar = '{% include "costs/_share.html" %}'
    row: dict[str, Any] = {"share": Decimal("-0.25")}

    assert re.search(r'class="progress progress-sm progress-negative"\s+value="25"', render(bar, row=row))
    assert "−25%" in render(bar, row=row)
    assert "progress-negative" not in render(bar, row={"share": Decimal("0.25")})


def test_the_tile_of_anomalies_counts_what_it_sums(acme: Account) -> None:
    """What two of three share counts once."""
    source = CostSource.objects.create(account=acme, name="AWS")
    for number, (impact, shared) in enumerate([("100", "0"), ("40", "10"), ("-60", "20")]):
        add_anomaly(
            acme,
            source,
            key=f"anom_{number:016}",
            value=f"Service {number}",
            currency="USD",
            kind="spike",
            severity="low",
            first_day=date(2026, 3, 1),
            last_day=date(2026, 3, 2),
            actual=Decimal(130),
            expected=Decimal(30),
            impact=Decimal(impact),
            shared_impact=Decimal(shared),
            month_end_impact=Decimal(impact),
            days=[],
            causes=[],
        )

    tile = open_anomalies()

    assert tile.count == len(tile.worst) == 3
    assert [each.amount for each in tile.impacts] == [Decimal(90)]


def test_a_share_of_revenue_reads_the_same_in_its_card_and_its_widget(acme: Account, cast: Cast) -> None:
    first = date(2026, 1, 8)
    days = [first + timedelta(days=count) for count in range(70)]
    add_source(acme, [cost(day, "32.33") for day in days])
    push_events(acme, [event(day, "globex", "100", metric="revenue", unit="USD") for day in days])
    UnitMetric.objects.create(name="Share", usage_metric="revenue")
    board = create_board(acme, "Board", widget("unit_cost", unit_metric="Share"))
    url = f"/a/acme/dashboards/widgets/{board.widgets.get().pk}/"
    client = signed_in(cast.viewer)

    card = get_page(client, "/a/acme/unit-economics/saved/")
    page = read_streamed(client, url)

    assert "32.3% of revenue, cost in USD" in card
    assert "32.3% of revenue, cost in USD" in page
    assert "$0.32" not in page
    assert "0.3233" not in page


def read_streamed(client: Client, url: str) -> str:
    answer: Any = client.get(url)
    body = b"".join(answer) if answer.streaming else answer.content
    return " ".join(re.sub(r"<[^>]+>", " ", body.decode()).split())


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (
            '{{ amount|headline:"USD" }}',
            '<data class="amount" value="196123.45" title="$196,123.45">$196.1K</data>',
        ),
        ('{{ amount|money:"USD" }}', '<span class="amount">$196,123.45</span>'),
        ('{{ small|money:"USD" }}', '<span class="amount">$0.0042</span>'),
        ('{{ none|headline:"USD" }}', '<span class="text-secondary">—</span>'),
        ('{{ quantity|headline_quantity:"document" }}', 'title="4,412,000 documents">4.4M documents</data>'),
    ],
)
def test_a_short_amount_has_the_exact_one_on_hovering(template: str, expected: str) -> None:
    figures = {
        "amount": Decimal("196123.45"),
        "small": Decimal("0.0042"),
        "none": None,
        "quantity": Decimal(4412000),
    }

    assert expected in render(template, **figures)


@dataclass(frozen=True)
class ChangeOf:
    """A change of $1,000.00."""

    change: Decimal
    currency: str = "USD"
    previous_amount: Decimal = Decimal(1000)
    reason: str = ""

    @property
    def ratio(self) -> Decimal:
        return self.change / self.previous_amount


@pytest.mark.parametrize(
    ("amount", "css", "text"),
    [("0.30", "", "0%"), ("-0.30", "", "0%"), ("40", " change-up", "+4%"), ("-40", " change-down", "−4%")],
)
@pytest.mark.parametrize("template", ["{{ change|direction }}", "{{ change|change }}"])
def test_a_change_that_reads_as_zero_has_neither_sign_nor_colour_nor_arrow(
    template: str, amount: str, css: str, text: str
) -> None:
    html = render(template, change=ChangeOf(Decimal(amount)))

    assert f'class="change{css}"' in html
    assert re.search(f">{re.escape(text)} ?<", html)


def test_no_template_decides_on_its_own_whether_a_change_is_up_or_down() -> None:
    folder = Path(settings.BASE_DIR) / "templates"

    assert [path.name for path in folder.rglob("*.html") if "change-up" in path.read_text()] == []
    assert render("{{ move|change_css }}", move=ChangeOf(Decimal("0.30"))) == ""
