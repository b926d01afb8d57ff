#!/bin/sh
# Runs one stage of a longer check under a time limit and prints what it took.
#   stage.sh NAME LIMIT command...       LIMIT as for timeout(1): 90s, 10m
set -u
name=$1
limit=$2
shift 2

echo "== $name"
start=$(date +%s)
timeout --kill-after=10s "$limit" "$@"
code=$?
seconds=$(($(date +%s) - start))

case $code in
    0) echo "-- $name: ok, $seconds s" ;;
    124 | 137) echo "-- $name: stopped after $seconds s (limit $limit)" ;;
    *) echo "-- $name: failed with exit $code, $seconds s" ;;
esac
exit $code
