"""A script that runs one stray process like an engine, so that a test can kill the engine.

python -m tests.process.engine MARKER KIND FOLDER
"""

import sys
from pathlib import Path

from tests.process.kit import finish, stray

if __name__ == "__main__":
    finish(stray(sys.argv[2], Path(sys.argv[3]), then="stay", marker=sys.argv[1]))
