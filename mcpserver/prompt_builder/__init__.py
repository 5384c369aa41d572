"""What the prompts are made with: their arguments, what they know of the account, and how their text is put together."""
