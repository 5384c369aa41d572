"""Events of an account that assistants subscribe to (MCP Events, SEP-3415): which there are, and when one happens."""
