"""A password hasher for tests: the product's, with one iteration in place of a million, because test passwords need
no protection."""

from __future__ import annotations

from django.contrib.auth.hashers import PBKDF2PasswordHasher


class QuickHasher(PBKDF2PasswordHasher):
    iterations = 1
