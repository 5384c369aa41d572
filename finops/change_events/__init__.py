"""Change events: deployments, releases, purchases, incidents and notes that may explain a change of cost."""
