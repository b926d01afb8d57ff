#!/bin/sh
# Installs runners and linters of JavaScript, at the versions that were tried, for tests; nothing else needs them.
set -eu
cd "$(dirname "$0")/.."
# Two tests at once must not install into the same folder.
if command -v flock >/dev/null 2>&1; then
    exec 9<tools/js_runners.sh
    flock 9
fi
PACKAGES="jest@30.5.2 vitest@4.1.12 eslint@10.15.0 typescript@7.0.2"
stamp=.venv-js/installed
if [ "$(cat "$stamp" 2>/dev/null || true)" = "$PACKAGES" ]; then exit 0; fi
system=/etc/ssl/certs/ca-certificates.crt
if [ -z "${NODE_EXTRA_CA_CERTS:-}" ] && [ -f "$system" ]; then export NODE_EXTRA_CA_CERTS=$system; fi
rm -rf .venv-js # npm takes what a broken installation left for complete
# shellcheck disable=SC2086 # a list of words
npm install --prefix .venv-js --no-audit --no-fund --loglevel=error $PACKAGES
printf '%s' "$PACKAGES" > "$stamp"
