"""Passkeys of people, and the verification of what was signed with them."""
