#!/bin/bash
# Runs a program beside a memory server, with a grant at this server.
#
# MPIX_TEST_NAM_OPTIONS: further options of the server, separated by spaces.
#
# usage: tests/nam/with_server.sh BIN COMMAND [ARGUMENT...]
set -euo pipefail
read -ra options <<< "${MPIX_TEST_NAM_OPTIONS:-}"
. "$(dirname "$0")/server.sh" "$1" "${options[@]}"
"${@:2}"
