"""Read-only questions about a state: graph relations, names in scope, step results, branch trees."""
