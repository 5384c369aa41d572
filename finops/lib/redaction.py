"""Redaction of secrets in texts: in assistants' requests and in the log."""

from __future__ import annotations

import re
from typing import Final

HIDDEN: Final = "[hidden]"

_SHAPES = re.compile(
    r"""
      (?: fmcp_ | fuse_ | fcst_ | fevt_ | fscm_ | foat_ | fort_ | whsec_ ) [\w-]{16,}           # ours; a masked key may be shown
    | \b (?: sk | pk | rk )[-_] (?: [a-zA-Z]+[-_] )* [\w-]{16,}         # OpenAI, Anthropic, Stripe
    | \b (?: AKIA | ASIA ) [0-9A-Z]{12,}                                # AWS
    | \b (?: gh[opsur]_ | github_pat_ | glpat- | xox[a-z]- | hf_ | AIza | ya29\. ) [\w-]{10,}
    | \b eyJ [\w-]{8,} \. [\w-]+ (?: \. [\w-]* )?                       # JSON web tokens
    | -----BEGIN\ [A-Z\ ]*PRIVATE\ KEY-----  .*? (?: -----END\ [A-Z\ ]*PRIVATE\ KEY----- | \Z )
    | (?<= :// ) [^\s/:@"]{0,200} : [^\s/@"]{1,500} (?= @ )             # a password in a URL
    """,
    re.VERBOSE | re.DOTALL,
)
_BEARER = re.compile(r"\b((?:bearer|basic)\s+)[\w.~+/=-]{8,}", re.IGNORECASE)
_NAMES = (
    r"(?:password|passwd|pwd|passphrase|secret|client[_-]?secret|secret[_-]?(?:access[_-]?)?key|api[_-]?key|"
    r"private[_-]?key|(?:access|refresh|auth|id|session)[_-]?token|token|authorization|cookie|credentials?)"
)
# A field of JSON, and one of JSON that is text within JSON.
_FIELD = re.compile(
    rf'(?<!\\)("{_NAMES}"\s*:\s*)(?:"(?:[^"\\]|\\.)*(?:"|\\?\Z)|-?\d[\d.eE+-]*)', re.IGNORECASE
)
_INNER = re.compile(rf'(\\"{_NAMES}\\"\s*:\s*\\").*?(?=(?<!\\)\\"|\Z)', re.IGNORECASE | re.DOTALL)


# A part of each of them, in lower case. Nearly all texts have none, and this test costs a thirtieth.
_HINTS = (
    *(
        "fmcp_",
        "fuse_",
        "fcst_",
        "fevt_",
        "fscm_",
        "foat_",
        "fort_",
        "whsec_",
        "sk-",
        "sk_",
        "pk-",
        "pk_",
        "rk-",
        "rk_",
        "akia",
        "asia",
    ),
    *("ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "xox", "hf_", "aiza", "ya29.", "eyj"),
    *("-----begin", "://", "bearer", "basic", "pass", "pwd", "secret", "key", "token", "authorization"),
    *("cookie", "credential"),
)


def without_secrets(text: str) -> str:
    """Return the text with `[hidden]` in place of each secret."""
    if not any(map(text.lower().__contains__, _HINTS)):
        return text
    text = _SHAPES.sub(HIDDEN, text)
    text = _BEARER.sub(rf"\1{HIDDEN}", text)
    text = _INNER.sub(rf"\1{HIDDEN}", text)
    return _FIELD.sub(rf'\1"{HIDDEN}"', text)
