from __future__ import annotations

from django.apps import AppConfig


class BackupConfig(AppConfig):
    name = "finops.backup"
    label = "backup"
    verbose_name = "Backup"
