#!/bin/sh
# Installs the real agent programs, at the versions that were tried, for `make live`; nothing else needs them.
#   live.sh [first|second|newest|acp|tools]   in .venv-live, and in .venv-live/second and so on
# `tools` are the programs that check interfaces.
set -eu
cd "$(dirname "$0")/.."
# Two tests at once must not install into the same folder.
if command -v flock >/dev/null 2>&1; then
    exec 9<tools/live.sh
    flock 9
fi
case ${1:-first} in
    first) place=.venv-live PACKAGES="@anthropic-ai/claude-code@2.1.197 @openai/codex@0.166.0 @google/gemini-cli@0.61.0" ;;
    second) place=.venv-live/second PACKAGES="@anthropic-ai/claude-code@2.1.325 @openai/codex@0.169.0 @google/gemini-cli@0.60.0" ;;
    newest) place=.venv-live/newest PACKAGES="@anthropic-ai/claude-code@latest @openai/codex@latest @google/gemini-cli@latest" ;;
    acp) place=.venv-live/acp PACKAGES="opencode-ai@1.18.33 @qwen-code/qwen-code@0.24.4 @agentclientprotocol/claude-agent-acp@0.100.0 @agentclientprotocol/codex-acp@2.6.0" ;;
    tools) place=.venv-live/tools PACKAGES="typescript@7.0.2" ;;
    *) echo "live.sh: $1 is not a set of versions; choose from first, second, newest, acp, tools" >&2; exit 2 ;;
esac
stamp=$place/installed
if [ "${1:-first}" != newest ] && [ "$(cat "$stamp" 2>/dev/null || true)" = "$PACKAGES" ]; then exit 0; fi
if ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null || ! command -v npm >/dev/null; then
    echo "the agent programs need Node.js 20 or later with npm, on the PATH" >&2
    exit 1
fi
# Node.js brings its own list of authorities; behind a proxy the system's list knows more.
system=/etc/ssl/certs/ca-certificates.crt
if [ -z "${NODE_EXTRA_CA_CERTS:-}" ] && [ -f "$system" ]; then export NODE_EXTRA_CA_CERTS=$system; fi
rm -rf "$place/node_modules" # npm takes what a broken installation left for complete
mkdir -p "$place"
# shellcheck disable=SC2086 # a list of words
if [ "$place" = .venv-live/tools ]; then
    python3 -m venv "$place/python"
    "$place/python/bin/pip" install --quiet openapi-spec-validator==0.9.0 check-jsonschema==0.39.0
fi
npm install --prefix "$place" --no-audit --no-fund --loglevel=error $PACKAGES
printf '%s' "$PACKAGES" > "$stamp"
