#!/bin/bash
# A program whose windows are spread over two grants of a memory server.
#
# usage: tests/nam/spread.sh BIN COMMAND [ARGUMENT...]
set -euo pipefail
bin=$1
. "$(dirname "$0")/server.sh" "$bin"
MPIX_NAM_ALLOCATION+=,$("$bin/mpix-nam" grant 16M)
"${@:2}"
