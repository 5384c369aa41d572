"""Passwords of tests are hashed as the product hashes them, once instead of a million times: nobody attacks them."""

from __future__ import annotations

from django.contrib.auth.hashers import PBKDF2PasswordHasher


class QuickHasher(PBKDF2PasswordHasher):
    iterations = 1
