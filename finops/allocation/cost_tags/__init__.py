"""Cost tags as cost dimensions. The expression gives each line the value of the first rule that matches it."""
