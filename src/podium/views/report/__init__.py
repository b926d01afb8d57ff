"""The report of a run as one HTML file without script, or as Markdown for a pull request. Pure."""
