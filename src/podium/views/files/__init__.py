"""The files of a run folder and of reports."""
