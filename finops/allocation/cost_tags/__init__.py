"""Cost tags as dimensions of cost: the expression that gives each line the value of the first rule that catches it."""
