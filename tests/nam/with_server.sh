#!/bin/bash
# A program beside a memory server, with a grant.
#
# usage: tests/nam/with_server.sh BIN COMMAND [ARGUMENT...]
set -euo pipefail
. "$(dirname "$0")/server.sh" "$1"
"${@:2}"
