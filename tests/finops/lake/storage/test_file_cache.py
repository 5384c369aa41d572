from __future__ import annotations

import hashlib
import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest

from finops.lake.storage.file_cache import IN_USE_SECONDS, DamagedFile, FileCache

CONTENT = b"facts" * 1_000
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()


class Origin:
    """Where downloads come from; counts them."""

    def __init__(self, content: bytes = CONTENT) -> None:
        self.content = content
        self.downloads = 0

    def __call__(self, into: Path) -> None:
        self.downloads += 1
        into.write_bytes(self.content)


def test_a_file_is_downloaded_once_for_many_threads(tmp_path: Path) -> None:
    origin, cache = Origin(), FileCache(tmp_path, 10**6)
    with ThreadPoolExecutor(8) as threads:
        files = list(threads.map(lambda _: cache.file("a", CHECKSUM, origin), range(50)))
    assert {file.read_bytes() for file in files} == {CONTENT}
    assert origin.downloads == 1


def _download_in_another_process(root: str) -> None:
    def download(into: Path) -> None:
        into.write_bytes(CONTENT)
        with Path(root, "downloads").open("a") as log:
            log.write("x")

    assert FileCache(Path(root), 10**6).file("a", CHECKSUM, download).read_bytes() == CONTENT


def test_a_file_is_downloaded_once_for_many_processes(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(3, mp_context=spawn) as processes:
        list(processes.map(_download_in_another_process, [str(tmp_path)] * 9))
    assert (tmp_path / "downloads").read_text() == "x"


def test_a_damaged_download_is_not_kept(tmp_path: Path) -> None:
    cache, broken, whole = FileCache(tmp_path, 10**6), Origin(b"half"), Origin()
    with pytest.raises(DamagedFile, match=CHECKSUM):
        cache.file("a", CHECKSUM, broken)
    assert cache.file("a", CHECKSUM, whole).read_bytes() == CONTENT
    assert list((tmp_path / ".download").iterdir()) == []


def _use(cache: FileCache, path: str, seconds_ago: float) -> Path:
    file = cache.file(path, CHECKSUM, Origin())
    then = time.time() - seconds_ago
    os.utime(file, (then, then))
    return file


def test_the_least_recently_used_files_go_when_the_cap_is_reached(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, len(CONTENT) * 3)
    oldest, middle, newest = (_use(cache, name, ago) for name, ago in (("a", 900), ("b", 600), ("c", 300)))
    cache.file("d", CHECKSUM, Origin())
    assert [file.exists() for file in (oldest, middle, newest)] == [False, True, True]


def test_reading_a_file_makes_it_recent(tmp_path: Path) -> None:
    cache, untouched = FileCache(tmp_path, len(CONTENT) * 2), Origin()
    first, second = _use(cache, "a", 900), _use(cache, "b", 600)
    cache.file("a", CHECKSUM, untouched)
    cache.file("c", CHECKSUM, Origin())
    assert (first.exists(), second.exists(), untouched.downloads) == (True, False, 0)


def test_files_that_a_running_query_may_read_stay_beyond_the_cap(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, 1)
    in_use, idle = _use(cache, "a", IN_USE_SECONDS / 2), _use(cache, "b", IN_USE_SECONDS * 2)
    cache.file("c", CHECKSUM, Origin())
    assert (in_use.exists(), idle.exists()) == (True, False)


def test_entries_unread_for_a_week_are_removed(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, 10**9)
    old, recent = _use(cache, "a", 8 * 86_400), _use(cache, "b", 6 * 86_400)
    cache.trim()
    assert (old.exists(), recent.exists()) == (False, True)
