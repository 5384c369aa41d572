"""Charts that the server draws."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
from PIL import Image

from finops.lib.drawings.chart import ColumnChart, DrawnSeries
from finops.lib.drawings.columns import draw_columns
from finops.lib.drawings.png import SCALE, to_png
from finops.lib.drawings.svg import to_svg


def column_chart(*values: list[float | None], limit: float | None = None) -> ColumnChart:
    labels = [f"2026-{month:02}" for month in range(1, len(values[0]) + 1)]
    names = ["Compute", "Storage", "Credits"]
    series = [DrawnSeries(name=name, values=each) for name, each in zip(names, values, strict=False)]
    return ColumnChart(
        title="Spend by month", currency="USD", labels=labels, series=series, limit=limit, limit_name="Budget"
    )


def heights(chart: ColumnChart, paint: str) -> list[float]:
    drawing = draw_columns(chart, width=600, height=200)
    # The last box of a paint is its swatch in the legend, where there is one.
    boxes = [box for box in drawing.boxes if box.paint == paint and box.height > 1 and box.width > 9]
    return [round(box.height, 3) for box in boxes]


def test_columns_are_as_high_as_their_values() -> None:
    first, second, third = heights(column_chart([100.0, 50.0, 25.0]), "c0")

    assert first == pytest.approx(2 * second, abs=0.01)
    assert second == pytest.approx(2 * third, abs=0.01)


def test_stacked_parts_stand_on_each_other_and_credits_below_the_axis() -> None:
    drawing = draw_columns(column_chart([100.0], [60.0], [-40.0]), width=600, height=200)

    compute, storage, credit = (
        next(box for box in drawing.boxes if box.paint == paint and box.height > 9)
        for paint in ("c0", "c1", "c2")
    )
    axis = next(box for box in drawing.boxes if box.paint == "axis")
    assert compute.y + compute.height == pytest.approx(axis.y)
    assert storage.y + storage.height == pytest.approx(compute.y)
    assert credit.y == pytest.approx(axis.y)


@pytest.mark.parametrize(
    "values",
    [[None, None], [0.0, 0.0], [-5.0, None], [1e-9, 2e-9], [1e15, 3.0], [0.1] * 62],
    ids=["no data", "nothing", "credits alone", "tiny", "huge", "two months of days"],
)
def test_every_part_is_within_the_drawing(values: list[float | None]) -> None:
    chart = ColumnChart(
        title="Spend", currency="EUR", labels=[f"{at}" for at in range(len(values))],
        series=[DrawnSeries(name="Spend", values=values)],
    )  # fmt: skip

    drawing = draw_columns(chart, width=536, height=220)

    for box in drawing.boxes:
        assert box.x >= 0
        assert box.y >= 0
        assert box.x + box.width <= 536.01
        assert box.y + box.height <= 221
    assert all(0 <= label.x <= 536 and 0 <= label.y <= 220 for label in drawing.labels)
    assert Image.open(io.BytesIO(to_png(drawing))).size == (536 * SCALE, 220 * SCALE)


def test_the_limit_is_within_the_scale_and_in_the_legend() -> None:
    drawing = draw_columns(column_chart([10.0], limit=500.0), width=600, height=200)

    (line,) = [box for box in drawing.boxes if box.paint == "limit" and box.height == 2]
    assert 0 <= line.y <= 200
    assert "Budget" in [label.text for label in drawing.labels]


def test_names_are_no_markup() -> None:
    chart = ColumnChart(
        title='"><script>', currency="USD", labels=["2026-01"],
        series=[DrawnSeries(name="<script>", values=[1.0]), DrawnSeries(name="b", values=[2.0])],
    )  # fmt: skip

    svg = to_svg(draw_columns(chart, width=600, height=200), chart.alt)

    assert "<script>" not in svg
    assert "&lt;script&gt;" in svg


def test_the_alternative_text_has_the_first_the_highest_and_the_last_figure() -> None:
    alt = column_chart([10.0, 30.5, None, 20.0], [1.0, None, None, 0.25]).alt

    assert alt.startswith("Spend by month: ")
    assert alt.endswith("$11.00, Feb $30.50, Apr $20.25")


@pytest.mark.slow
def test_pillow_is_loaded_by_the_first_drawing_alone() -> None:
    code = (
        "import os, sys; os.environ['DJANGO_SETTINGS_MODULE'] = 'finops.settings'; import django; django.setup();"
        "import finops.lib.mail; print('PIL' in sys.modules)"
    )

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "False"


def test_an_amount_below_a_cent_keeps_its_digits_in_text_and_on_the_axis() -> None:
    values: list[float | None] = [0.00421, 0.003]
    chart = ColumnChart(
        title="Unit cost by day in USD",
        currency="USD",
        labels=["2026-03-16", "2026-03-17"],
        series=[DrawnSeries(name="Unit cost", values=values)],
    )

    assert chart.alt == "Unit cost by day in USD: Mar 16 $0.00421, Mar 17 $0.003"
    ticks = [label.text for label in draw_columns(chart, width=600, height=220).labels]
    assert "$0.004" in ticks
    assert len(set(ticks)) == len(ticks)
