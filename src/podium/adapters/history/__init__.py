"""Where the history of runs is stored: a SQLite file of the project, and a PostgreSQL database for several machines."""
