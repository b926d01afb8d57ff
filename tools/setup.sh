#!/bin/sh
# Makes .venv with pinned packages and an editable install of Podium.
#   setup.sh [dev|demo]    dev: all development tools; demo: only what Podium itself and its demo need
# Does nothing when the last set-up was for the same pins, place and interpreter.
set -eu
cd "$(dirname "$0")/.."
kind=${1:-dev}
root=$PWD
venv=$root/.venv
stamp=$venv/.podium-setup

main() {
    # Two `make` at once must not build the same folder; the script itself serves as the lock file.
    if command -v flock >/dev/null 2>&1; then
        exec 9<tools/setup.sh
        flock 9
    fi
    if is_ready; then
        return
    fi
    python=$(find_python)
    began=$(date +%s)
    echo "Setting up .venv with $("$python" --version), once:" >&2
    is_reusable || rm -rf "$venv"
    if ! install_with_uv; then
        install_with_pip
    fi
    fingerprint "$kind" >"$stamp"
    echo "  ready after $(($(date +%s) - began)) s" >&2
}

packages() {
    case $kind in dev) takes="about a minute" ;; *) takes="some seconds" ;; esac
    echo "  installing $(grep -c '^[A-Za-z]' "requirements/$kind.txt") pinned packages; this takes $takes" >&2
}

# The development tools include what the demo needs.
is_ready() {
    is_reusable && case $(cat "$stamp") in "$(fingerprint "$kind")" | "$(fingerprint dev)") true ;; *) false ;; esac
}

# Finished once, in this very place, and the interpreter below it is still there:
# an editable install and the scripts of a venv hold absolute paths.
is_reusable() {
    [ -f "$stamp" ] && [ "$(head -n 1 "$stamp")" = "$root" ] && "$venv/bin/python" -c "" 2>/dev/null
}

fingerprint() {
    echo "$root"
    cksum "requirements/$1.txt" pyproject.toml tools/setup.sh
}

find_python() {
    for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python; do
        # Running it is the only proof: a version manager's stand-in exists but may refuse to start.
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            command -v "$candidate"
            return
        fi
    done
    echo "Podium needs Python 3.11 or later and found none. On Debian or Ubuntu:" >&2
    echo "    sudo apt-get install -y python3 python3-venv" >&2
    exit 2
}

install_with_uv() {
    command -v uv >/dev/null 2>&1 || return 1
    # Both names of one switch: older releases of uv know only the first.
    export UV_NATIVE_TLS=true UV_SYSTEM_CERTS=true UV_PYTHON_DOWNLOADS=never VIRTUAL_ENV="$venv"
    packages
    if uv venv --quiet --allow-existing --python "$python" "$venv" &&
        uv pip install --quiet --require-hashes -r "requirements/$kind.txt" &&
        uv pip install --quiet --no-deps --no-build-isolation -e .; then
        return 0
    fi
    echo "uv did not get through; trying pip" >&2
    rm -rf "$venv"
    return 1
}

install_with_pip() {
    export PIP_DISABLE_PIP_VERSION_CHECK=1
    if "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        "$python" -m venv "$venv"
        pip_from "$venv/bin/python"
    elif "$python" -c 'import pip, venv' 2>/dev/null; then
        # Debian's Python without python3-venv, but with pip: that pip can fill a bare environment.
        "$python" -m venv --without-pip "$venv"
        pip_from "$python" --python "$venv/bin/python"
    else
        echo "This Python cannot make virtual environments. Run this once, then try again:" >&2
        echo "    sudo apt-get install -y $(venv_package)" >&2
        exit 2
    fi
}

pip_from() {
    host=$1
    shift
    packages
    "$host" -m pip "$@" install --quiet --require-hashes -r "requirements/$kind.txt"
    echo "  installing Podium itself" >&2
    "$host" -m pip "$@" install --quiet --no-deps --no-build-isolation -e .
}

venv_package() {
    "$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'
}

main
