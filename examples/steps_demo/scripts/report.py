"""Wraps what comes in into a page."""

import sys

print(f"<h1>{sys.argv[1]}</h1>\n<p>{sys.stdin.read().strip()}</p>")
