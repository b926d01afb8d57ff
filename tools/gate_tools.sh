#!/bin/sh
# Installs the tools whose gates are tampered with in the tests, at the versions that were tried; nothing else needs them.
set -eu
cd "$(dirname "$0")/.."
if command -v flock >/dev/null 2>&1; then
    exec 9<tools/gate_tools.sh
    flock 9
fi
PYTHON_TOOLS="tox==4.67.13 flake8==7.5.0"
stamp=.venv-tox/installed
if [ "$(cat "$stamp" 2>/dev/null || true)" != "$PYTHON_TOOLS" ]; then
    .venv/bin/python -m venv .venv-tox
    # shellcheck disable=SC2086 # a list of words
    .venv-tox/bin/python -m pip install --quiet --disable-pip-version-check $PYTHON_TOOLS
    printf '%s' "$PYTHON_TOOLS" > "$stamp"
fi
exec sh tools/js_runners.sh
