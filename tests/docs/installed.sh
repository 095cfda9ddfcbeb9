#!/bin/sh
# Installs into a temporary prefix and runs the commands of a document on it.
# usage: installed.sh CMAKE BUILD-DIR PYTHON SOURCE-DIR [OPTION] DOCUMENT
set -eu
cmake=$1 build=$2 python=$3 source=$4
shift 4
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$cmake" --install "$build" --prefix "$directory/prefix" > /dev/null
"$python" "$(dirname "$0")/commands.py" run "$source" "$directory/prefix" "$@"
