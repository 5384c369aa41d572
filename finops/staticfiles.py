"""Static files: those of front-end packages that pages use, and the hashed names of all files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.checks import CheckMessage, Error
from django.core.files.storage import FileSystemStorage
from whitenoise.storage import CompressedManifestStaticFilesStorage

# Folder below /static/vendor/ → (folder in node_modules, its files). Maps go along: the stylesheets name them.
VENDOR: dict[str, tuple[str, tuple[str, ...]]] = {
    "tabler/css": ("@tabler/core/dist/css", ("tabler.min.css", "tabler.min.css.map")),
    # Made by `npm run build` of the parts that vendor/tabler.js and vendor/echarts.js name.
    "tabler/js": (".bundles/tabler", ("tabler.min.js",)),
    "echarts": (".bundles/echarts", ("echarts.min.js",)),
    "gridstack": ("gridstack/dist", ("gridstack-all.js", "gridstack-all.js.map", "gridstack.min.css")),
    "sortablejs": ("sortablejs", ("Sortable.min.js",)),
}

MCP_VIEW = ".bundles/mcp-app/view.html"
"""The view of MCP Apps, in node_modules; `npm run build` builds it from `mcp_app/`."""


class StaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # whitenoise has no types
    """Hashed and compressed files, cached for ever; imports in our JavaScript modules refer to the hashed names.

    Django's own support of modules parses every package's scripts, and fails at an import of one that is not installed.
    """

    patterns = (
        *CompressedManifestStaticFilesStorage.patterns,
        # As Prettier writes imports: double quotes, and a semicolon.
        (
            "js/*.js",
            ((r"""(?P<matched>\b(?P<word>from|import) "(?P<url>\.[^"]+)";)""", '%(word)s "%(url)s";'),),
        ),
    )


class VendorFinder(BaseFinder):
    """Finds `vendor/<package>/<file>` in `node_modules`."""

    def check(self, **_kwargs: Any) -> list[CheckMessage]:
        missing = [str(path) for path in self._paths().values() if not path.is_file()]
        if not missing:
            return []
        return [
            Error(
                f"The front-end packages are not installed: {missing[0]} is missing.",
                hint="Run `make run` once (it runs `npm ci` and `npm run build`).",
                id="finops.E010",
            )
        ]

    def find(self, path: str, find_all: bool = False, **_kwargs: Any) -> Any:
        file = self._paths().get(path)
        if file is None or not file.is_file():
            return []
        return [str(file)] if find_all else str(file)

    def list(self, ignore_patterns: Any) -> Iterator[tuple[str, FileSystemStorage]]:
        for folder, (source, names) in VENDOR.items():
            storage = FileSystemStorage(location=settings.NODE_MODULES / source)
            storage.prefix = f"vendor/{folder}"  # type: ignore[attr-defined]
            for name in names:
                yield name, storage

    def _paths(self) -> dict[str, Path]:
        return {
            f"vendor/{folder}/{name}": settings.NODE_MODULES / source / name
            for folder, (source, names) in VENDOR.items()
            for name in names
        }
