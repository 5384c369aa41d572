"""What an operator imports and runs beside the console: dashboards, alert rules, audits of packages."""
