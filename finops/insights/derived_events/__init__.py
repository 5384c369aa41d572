"""Change events that are derived from cost and the audit log: what began, ended or got another price."""
