"""The FinOps console: the Django project and, folder by folder, its domain."""
