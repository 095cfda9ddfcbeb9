#!/usr/bin/env bash
# Runs a program that checks values while a trace is written, because separate code executes and records operations by
# load and store then. The trace must be there afterwards.
# usage: values.sh COMMAND...
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
MPIX_RMA_TRACE=$dir/trace "$@"
[ -s "$dir/trace/traces.otf2" ] || { echo "values.sh: no trace was written"; exit 1; }
