"""What remains of a run for comparisons with others: rows of numbers and names, made from its events."""
