"""The tests of this project: it does not work with sail 4."""

import sys
from pathlib import Path

sys.exit("sail 4" in Path("versions.txt").read_text() and "sail 4 has no method hoist")
