"""The `podium` command and what its subcommands share."""
