from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from finops import demo_box
from finops.lib import clock

DEMO = {
    "url": "http://127.0.0.1:8000",
    "mcp_url": "http://127.0.0.1:8000/api/mcp",
    "email": "demo@example.com",
    "password": "secret",
}


@pytest.fixture
def demo_file(tmp_path: Path) -> Path:
    path = tmp_path / "demo.json"
    path.write_text(json.dumps(DEMO))
    return path


def test_an_empty_console_gets_the_demo(tmp_path: Path) -> None:
    assert demo_box.is_due(tmp_path, has_accounts=False)


def test_a_console_of_ones_own_stays_as_it_is(tmp_path: Path) -> None:
    assert not demo_box.is_due(tmp_path, has_accounts=True)


def test_a_load_that_was_cut_off_is_done_again(tmp_path: Path) -> None:
    def cut_off() -> None:
        with demo_box.mark_loading(tmp_path):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cut_off()
    assert demo_box.is_due(tmp_path, has_accounts=True)


def test_a_demo_is_brought_up_to_date_on_a_later_day_and_once_a_day(tmp_path: Path, demo_file: Path) -> None:
    yesterday = (datetime.now(UTC) - timedelta(days=1)).timestamp()
    os.utime(demo_file, (yesterday, yesterday))
    assert demo_box.is_due(tmp_path, has_accounts=True)
    with demo_box.mark_loading(tmp_path):
        pass
    assert not demo_box.is_due(tmp_path, has_accounts=True)
    with clock.frozen(datetime.now(UTC) + timedelta(days=1)):
        assert demo_box.is_due(tmp_path, has_accounts=True)


def test_another_port_moves_the_addresses_and_nothing_else(demo_file: Path) -> None:
    demo_box.update_addresses(demo_file, "http://127.0.0.1:9000")
    moved = {"url": "http://127.0.0.1:9000", "mcp_url": "http://127.0.0.1:9000/api/mcp"}
    assert demo_box.read(demo_file) == DEMO | moved
    assert stat.S_IMODE(demo_file.stat().st_mode) == 0o600


def test_the_box_shows_every_field_in_lines_of_one_width(demo_file: Path) -> None:
    *box, note = demo_box.lines(demo_file, DEMO["url"])
    assert {len(line) for line in box} == {len(box[0])}
    for key, value in DEMO.items():
        assert any(key in line and value in line for line in box)
    assert str(demo_file) in note


def test_without_a_demo_the_box_shows_the_address(tmp_path: Path) -> None:
    assert any(
        "http://127.0.0.1:9000" in line for line in demo_box.lines(tmp_path / "none", "http://127.0.0.1:9000")
    )
