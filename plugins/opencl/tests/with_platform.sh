#!/usr/bin/env bash
# Runs a command if there is an OpenCL platform; exit code 77 says that there is none.
# Usage: with_platform.sh BUILD COMMAND argument...
set -euo pipefail
build=$(realpath "${1:?usage: with_platform.sh BUILD COMMAND argument...}")
shift
config=$(mktemp --suffix .ini)
printf '[plugin.cpu]\n[plugin.opencl]\nrequired = no\n' >"$config"
state=$("$build/bin/wick" info --why --config "$config" | grep "^opencl:" || true)
rm "$config"
if [[ $state == "opencl: no device"* ]]; then
    echo "skipped: $state"
    exit 77
fi
exec "$@"
