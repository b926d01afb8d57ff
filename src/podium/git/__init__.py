"""Trees, checkouts, merges, landings; the only package that calls git."""
