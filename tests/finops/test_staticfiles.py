"""Static files as they are served."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from django.conf import settings

from finops.staticfiles import StaticFilesStorage

IMPORT = re.compile(r"""\b(?:import|from)\s*["'](\.[^"']+)["']""")


def test_every_import_of_our_modules_names_a_file_that_is_served(tmp_path: Path) -> None:
    shutil.copytree(settings.BASE_DIR / "static" / "js", tmp_path / "js")
    storage = StaticFilesStorage(location=str(tmp_path), base_url="/static/")
    names = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.js")]

    processed = list(storage.post_process({name: (storage, name) for name in names}))

    # Only hashed files stay: an import that names the source finds none.
    modules = list(tmp_path.rglob("*.js"))
    imports = [(module, target) for module in modules for target in IMPORT.findall(module.read_text())]
    missing = [(module.name, target) for module, target in imports if not (module.parent / target).is_file()]
    assert not [result for _name, _hashed, result in processed if isinstance(result, Exception)]
    assert len(imports) > 10
    assert missing == []
