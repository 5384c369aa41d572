"""The hasher of client secrets. A secret has 128 random characters, so one HMAC is as safe as PBKDF2, which takes 0.2
s of CPU."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.hashers import BasePasswordHasher
from django.utils.crypto import constant_time_compare, salted_hmac


class RandomSecretHasher(BasePasswordHasher):
    """A fast hasher for random secrets only. Passwords keep Django's slow hashers, which come first in
    PASSWORD_HASHERS."""

    algorithm = "finops_random_secret"

    def encode(self, password: str, salt: str) -> str:
        return f"{self.algorithm}${salt}${self._digest(password, salt)}"

    def decode(self, encoded: str) -> dict[str, Any]:
        algorithm, salt, digest = encoded.split("$", 2)
        return {"algorithm": algorithm, "salt": salt, "hash": digest}

    def verify(self, password: str, encoded: str) -> bool:
        decoded = self.decode(encoded)
        return constant_time_compare(decoded["hash"], self._digest(password, decoded["salt"]))

    def safe_summary(self, encoded: str) -> Any:
        return {"algorithm": self.algorithm}

    def must_update(self, encoded: str) -> bool:
        return False

    def harden_runtime(self, password: str, encoded: str) -> None:
        """Do nothing: the time of one hash does not help to guess a random secret."""

    @staticmethod
    def _digest(secret: str, salt: str) -> str:
        return salted_hmac(f"oauth client secret {salt}", secret, algorithm="sha256").hexdigest()
