"""What test runners print: the result of each test, totals, and the first failure."""
