"""Events of an account for subscribed assistants (MCP Events, SEP-3415): their types, and when they occur."""
