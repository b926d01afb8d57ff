"""Look at runs without changing them."""
