"""Write and check workflows."""
