"""The user's branches: land, publish, fetch, clean up."""
