"""`python -m podium` is the command line."""

from podium.frontends.cli.main import main

main()
