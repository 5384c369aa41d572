"""Backup and restore of database and lake at one moment, the check of the lake (ADR 0054), and the schedule of backups."""
