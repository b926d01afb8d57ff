#!/bin/sh
# Pins every dependency with its hashes for Python 3.11 and later on Linux, naming no index.
set -eu
cd "$(dirname "$0")/.."

if command -v uv >/dev/null 2>&1; then
    uv=uv
else
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    python3 -m venv "$scratch"
    "$scratch/bin/python" -m pip install --quiet uv
    uv=$scratch/bin/uv
fi

# Both names of one switch: older releases of uv know only the first.
export UV_NATIVE_TLS=true UV_SYSTEM_CERTS=true UV_CUSTOM_COMPILE_COMMAND="make pins"

pin() {
    output=$1
    shift
    "$uv" pip compile --quiet --no-strip-extras --universal --python-version 3.11 --generate-hashes \
        --no-emit-index-url --no-emit-find-links --upgrade --output-file "$output" "$@"
}

pin requirements/base.txt pyproject.toml
pin requirements/dev.txt pyproject.toml requirements/dev.in --extra context
# The same versions as in the larger environment, which may be installed over it.
pin requirements/demo.txt pyproject.toml requirements/demo.in --constraint requirements/dev.txt
pin requirements/bench.txt requirements/bench.in
