#!/usr/bin/env bash
# Each public header compiles alone, and what a plugin may include together, as strict C17 and as C++17, with warnings as
# errors. Usage: check_headers.sh BUILD
set -euo pipefail
generated=$(realpath "${1:?usage: check_headers.sh BUILD}/generated/include")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
includes=(-Icore/include -Isdk/include -Inn/include -I"$generated")
failed=0
together=""
for header in core/include/wick/*.h sdk/include/wick/sdk/*.h nn/include/wick/*.h "$generated"/wick/*.h "$generated"/wick/sdk/*.h; do
    [[ -f $header ]] || continue
    name=${header##*/include/}
    # link.h stands in place of what the others declare, nn is not for plugins
    [[ $name == wick/sdk/link.h || $header == nn/* ]] || together+="#include <$name>"$'\n'
    for compiler in "${CC:-cc} -x c -std=c17 -Wstrict-prototypes" "${CXX:-c++} -x c++ -std=c++17"; do
        # shellcheck disable=SC2086
        $compiler -pedantic -Wall -Wextra -Werror "${includes[@]}" -fsyntax-only - <<<"#include <$name>" ||
            { echo "$header does not compile alone: $compiler"; failed=1; }
    done
done
for compiler in "${CC:-cc} -x c -std=c17" "${CXX:-c++} -x c++ -std=c++17"; do
    # shellcheck disable=SC2086
    $compiler -pedantic -Wall -Wextra -Werror "${includes[@]}" -fsyntax-only - <<<"$together" ||
        { echo "the headers do not compile together: $compiler"; failed=1; }
done
exit $failed
