"""Files of imports: waiting uploads, working folders, and content digests, which detect the same file under another
name, in gzip, or in another source."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile

from accounts.models import Account
from finops.costs.focus.archives import unpack
from finops.costs.focus.csvtext import ContentDigest
from finops.costs.focus.errors import printable
from finops.costs.focus.open_files import FocusFile
from finops.costs.focus.report import Review
from finops.costs.models import CostImport
from finops.costs.services import claims
from finops.lib import clock
from finops.lib.advisory_lock import lock_until_commit
from finops.lib.errors import UserError

UPLOAD_RETENTION: Final = timedelta(days=1)
"""The age at which an upload without an import is removed: its request died; a younger one may still be arriving."""


def store_upload(upload: UploadedFile[Any]) -> dict[str, Any]:
    """Store an upload under a generated name. One that Django streamed to disk is moved, not copied."""
    path = uploads() / uuid.uuid4().hex
    temporary = getattr(upload, "temporary_file_path", None)
    if temporary is not None:
        shutil.move(temporary(), path)
    else:
        with path.open("wb") as file:
            for chunk in upload.chunks():
                file.write(chunk)
    name = printable(Path(upload.name or "upload").name)
    return {"name": name[:200], "path": str(path), "bytes": path.stat().st_size, "remove": True}


def unpack_archives(stored: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the files with each ZIP archive replaced by its files; the archive stays on disk. Raises FocusFileError
    and LowDisk, as `unpack`."""
    unpacked: list[dict[str, Any]] = []
    for each in stored:
        file = FocusFile(Path(each["path"]), each["name"])
        with tempfile.TemporaryDirectory(dir=uploads()) as folder:
            parts = unpack(file, Path(folder))
            unpacked += [each] if parts == [file] else [_keep_part(part) for part in parts]
    return unpacked


def _keep_part(part: FocusFile) -> dict[str, Any]:
    path = uploads() / uuid.uuid4().hex
    shutil.move(part.path, path)
    return {"name": part.name[:200], "path": str(path), "bytes": path.stat().st_size, "remove": True}


def local_file(path: Path) -> dict[str, Any]:
    """Return a file of this machine, read in place and never removed. Raises UserError when it does not exist."""
    if not path.is_file():
        raise UserError(f"File {path} does not exist.", field="files", value=str(path))
    whole = path.absolute()
    return {
        "name": printable(whole.name)[:200],
        "path": str(whole),
        "bytes": whole.stat().st_size,
        "remove": False,
    }


def remove(files: Sequence[Mapping[str, Any]]) -> None:
    for file in files:
        if file["remove"]:
            Path(file["path"]).unlink(missing_ok=True)


def remove_of_account(account: Account) -> int:
    """Remove the files of an account that is being deleted: those of waiting imports and of column mapping samples.
    Returns the number."""
    # Unscoped: the account is being deleted by a task.
    file_lists = list(CostImport.objects.unscoped().filter(account=account).values_list("files", flat=True))
    for files in file_lists:
        remove(files)
    sample_folders = list(samples().glob(f"{account.pk}-*"))
    for folder in sample_folders:
        shutil.rmtree(folder, ignore_errors=True)
    return sum(len(files) for files in file_lists) + len(sample_folders)


def uploads() -> Path:
    return _folder("imports-waiting")


def samples() -> Path:
    """The folder of `mapping_samples`, with a folder per source."""
    return _folder("mapping-samples")


def work() -> Path:
    return _folder("imports-running")


def pushes() -> Path:
    """The folder of `finops.connections`, which removes its files."""
    return _folder("cost-pushes")


def _folder(name: str) -> Path:
    folder = Path(settings.VAR_DIR) / "uploads" / name
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def remove_forgotten_uploads() -> int:
    """Remove uploads older than a day that no import needs. Returns the number."""
    needed_paths = {file["path"] for job in claims.imports_with_files() for file in job.files}
    oldest = (clock.now() - UPLOAD_RETENTION).timestamp()
    count = 0
    own = (uploads(), work(), samples())
    kept_paths = {*map(str, own), str(pushes()), *needed_paths}
    for path in (path for folder in (*own, uploads().parent) for path in folder.iterdir()):
        if str(path) not in kept_paths and path.stat().st_mtime < oldest:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            count += 1
    return count


_CHUNK: Final = 2**20


class ImportedCopy(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier import, still current, of a file with the same content."""

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
                f"{self.file} was already imported into {self.source} as {self.name} on "
                f"{self.at:%Y-%m-%d}. Its cost would count twice."
            ),
            import_id=self.import_id,
        )

    @property
    def note(self) -> str:
        return f"{self.file} is unchanged from {self.name}, imported on {self.at:%Y-%m-%d}."


def content_hash(path: Path) -> str:
    """Return the digest of a file's bytes, in hex; "" if unreadable: reading its lines later gives the reason."""
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
    """Compute `content_hash` of these files in a thread during the block; iterating waits for the results."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.map(content_hash, paths)


def check_distinct(names: Sequence[str], hashes: Sequence[str]) -> None:
    """Raise UserError, naming both, if two files of one import have the same content."""
    names_by_hash: dict[str, str] = {}
    for name, digest in zip(names, hashes, strict=True):
        if digest and digest in names_by_hash:
            raise UserError(
                f"{names_by_hash[digest]} and {name} have the same content. Import only one of them."
            )
        names_by_hash[digest] = name


def lock_contents(account: Account) -> None:
    """Lock until the transaction ends, so that one import of the account at a time is in its last step: of two with
    the same content, the second detects the first."""
    lock_until_commit(f"cost contents {account.pk}")


def copies_of(job: CostImport, files: Mapping[str, str]) -> list[ImportedCopy]:
    """Return finished, still current imports of the account with one of these contents (name by content), the newest
    of each source and content. Two queries, and one for each such source."""
    earlier = CostImport.objects.filter(
        status=CostImport.Status.DONE, content_hashes__overlap=[each for each in files if each]
    )
    copies: dict[tuple[int, str], ImportedCopy] = {}
    for each in earlier.select_related("source").order_by("finished_at", "pk"):
        if each.finished_at is None or not _is_current(each):
            continue
        names = dict(zip(each.content_hashes, [file["name"] for file in each.files], strict=False))
        for digest in set(names) & set(files):
            copies[each.source_id, digest] = ImportedCopy(
                file=files[digest],
                import_id=each.pk,
                source_id=each.source_id,
                source=each.source.name,
                name=names[digest],
                at=each.finished_at,
            )
    return list(copies.values())


def _is_current(job: CostImport) -> bool:
    """Return whether any month of the import was not replaced since."""
    later = CostImport.objects.filter(
        source_id=job.source_id, status=CostImport.Status.DONE, finished_at__gt=job.finished_at
    )
    later_months = {month for months in later.values_list("months", flat=True) for month in months}
    months_imported: list[dict[str, Any]] = job.report.get("months", [])
    return not months_imported or any(
        (month.get("carried_by") or month["month"]) not in later_months for month in months_imported
    )
