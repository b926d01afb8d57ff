"""The history of runs: brought up to date from their logs, checked, and copied elsewhere."""
