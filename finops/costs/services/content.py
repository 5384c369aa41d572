"""The content of files, so that the same file is known again under another name, in gzip, or in another source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from django.db import connection

from accounts.models import Account
from finops.costs.focus.csvtext import ContentDigest
from finops.costs.focus.report import Review
from finops.costs.models import CostImport
from finops.lib.errors import UserError

_CHUNK: Final = 2**20


class Copy(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier import whose lines count, of a file with the same content."""

    file: str
    import_id: int
    source_id: int
    source: str
    name: str
    at: datetime

    @property
    def review(self) -> Review:
        return Review(
            kind="copy",
            reason=(
                f"{self.file} is in {self.source} already: the same content was imported there as {self.name} on"
                f" {self.at:%Y-%m-%d}. Its cost would count twice."
            ),
            import_id=self.import_id,
        )

    @property
    def note(self) -> str:
        return f"{self.file} has the same content as {self.name}, imported on {self.at:%Y-%m-%d}: unchanged."


def content_hash(path: Path) -> str:
    """The digest of a file's bytes, in hex. "" where it cannot be read: whoever reads it for its lines says why."""
    digest = ContentDigest()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError:
        return ""
    return digest.hexdigest()


@contextmanager
def hash_in_background(paths: Sequence[Path]) -> Iterator[Iterable[str]]:
    """`content_hash` of these files in a thread, while the block reads them; iterating waits for them."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.map(content_hash, paths)


def check_distinct(names: Sequence[str], hashes: Sequence[str]) -> None:
    """UserError that names two files of one import with the same content."""
    names_by_hash: dict[str, str] = {}
    for name, digest in zip(names, hashes, strict=True):
        if digest and digest in names_by_hash:
            raise UserError(
                f"{names_by_hash[digest]} and {name} have the same content, so its cost would count twice. Import one of them."
            )
        names_by_hash[digest] = name


def lock_contents(account: Account) -> None:
    """Wait until no other import of the account is in its last step: of two with one content, the second sees the first.
    Until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"cost contents {account.pk}"]
        )


def copies_of(job: CostImport, files: Mapping[str, str]) -> list[Copy]:
    """Finished imports of the account that had one of these contents (by content: name) and whose months still have it,
    the newest of each source and content. Two queries, and one for each source that had one."""
    earlier = CostImport.objects.filter(
        status=CostImport.Status.DONE, content_hashes__overlap=[each for each in files if each]
    )
    copies: dict[tuple[int, str], Copy] = {}
    for each in earlier.select_related("source").order_by("finished_at"):
        if each.finished_at is None or not _is_current(each):
            continue
        names = dict(zip(each.content_hashes, [file["name"] for file in each.files], strict=False))
        for digest in set(names) & set(files):
            copies[each.source_id, digest] = Copy(
                file=files[digest],
                import_id=each.pk,
                source_id=each.source_id,
                source=each.source.name,
                name=names[digest],
                at=each.finished_at,
            )
    return list(copies.values())


def _is_current(job: CostImport) -> bool:
    """Whether a month that the import brought was not brought again since."""
    later = CostImport.objects.filter(
        source_id=job.source_id, status=CostImport.Status.DONE, finished_at__gt=job.finished_at
    )
    again = {month for months in later.values_list("months", flat=True) for month in months}
    months_imported: list[dict[str, Any]] = job.report.get("months", [])
    return not months_imported or any(
        (month.get("carried_by") or month["month"]) not in again for month in months_imported
    )
