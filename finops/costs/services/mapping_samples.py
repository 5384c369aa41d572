"""The sample file for mapping the columns of a source: a waiting upload, else a stored sample.

A sample is never imported. Each source has at most one; it is removed by the next, by the mapping page, or after a
day.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import UploadedFile

from finops.costs.focus.archives import unpack
from finops.costs.focus.errors import FocusFileError
from finops.costs.focus.open_files import FocusFile, has_columns_of_a_format
from finops.costs.models import CostSource
from finops.costs.services import files
from finops.costs.services.column_mappings import waiting_for_mapping
from finops.lib import disk

MAX_NAME = 150


def sample_file(source: CostSource) -> FocusFile | None:
    """Return the first file that needs the mapping from the newest waiting upload, else the stored sample; None
    without either. The account is in scope."""
    waiting = [
        FocusFile(Path(file["path"]), file["name"])
        for job in reversed(waiting_for_mapping(source))
        for file in job.files
        if Path(file["path"]).is_file()
    ]
    if waiting:
        return next((file for file in waiting if _needs_mapping(file)), waiting[0])
    folder = sample_folder(source)
    return next((FocusFile(path, path.name) for path in sorted(folder.glob("*"))), None)


def store_sample(*, source: CostSource, upload: UploadedFile[Any]) -> None:
    """Store an uploaded file as the sample, the first file of an archive, replacing the earlier one. Raises LowDisk,
    and FocusFileError for an archive that cannot be unpacked."""
    disk.check_disk()
    stored = files.store_upload(upload)
    with tempfile.TemporaryDirectory(dir=files.uploads()) as folder:
        file = FocusFile(Path(stored["path"]), stored["name"])
        try:
            first = unpack(file, Path(folder), only_first=True)[0]
            name = first.name.rpartition("/")[2] if first != file else file.name
            shutil.move(first.path, _new_folder(source) / name[:MAX_NAME])
        finally:
            file.path.unlink(missing_ok=True)


def keep_sample(*, source: CostSource, path: Path) -> None:
    """Move a file of this machine to the sample, replacing the earlier one."""
    shutil.move(path, _new_folder(source) / path.name[:MAX_NAME])


def _new_folder(source: CostSource) -> Path:
    folder = sample_folder(source)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    return folder


def sample_folder(source: CostSource) -> Path:
    """Return the folder, which may not exist."""
    return files.samples() / f"{source.account_id}-{source.pk}"


def _needs_mapping(file: FocusFile) -> bool:
    try:
        return not has_columns_of_a_format(file)
    except FocusFileError:
        return False
