#!/bin/sh
# Builds the wheel, installs it with its dependencies into an empty environment and runs the demo with that.
set -eu
cd "$(dirname "$0")/.."
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

export PIP_DISABLE_PIP_VERSION_CHECK=1
.venv/bin/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$place/dist" .
.venv/bin/python -m venv "$place/empty"
"$place/empty/bin/python" -m pip install --quiet "$place"/dist/podium-*.whl

# Away from the sources and from this environment: only what the wheel brought is there.
cd "$place"
unset PYTHONPATH VIRTUAL_ENV
"$place/empty/bin/podium" --version
PATH="$place/empty/bin:/usr/local/bin:/usr/bin:/bin" "$place/empty/bin/podium" demo --folder "$place/demo"
git -C "$place/demo" log --oneline
git -C "$place/demo" diff --quiet HEAD~1 -- && { echo "the demo landed nothing" >&2; exit 1; }
exit 0
