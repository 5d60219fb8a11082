#!/usr/bin/env bash
# The C program that README.md shows is examples/hello.c. Usage: check_readme.sh [BUILD]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
shown=$(awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' README.md)
diff -u examples/hello.c <(printf '%s\n' "$shown") || { echo "README.md: the C block is not examples/hello.c" >&2; exit 1; }
