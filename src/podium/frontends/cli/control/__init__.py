"""Answer and steer runs."""
