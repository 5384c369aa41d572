"""Building blocks of prompts: their arguments, data of the account, and the composition of their text."""
