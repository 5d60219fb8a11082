#!/usr/bin/env bash
# A plugin that calls wick through <wick/sdk/link.h> has no undefined wick_ symbol and little code of it; the list of
# functions in wick/sdk/api.h is that of the headers. Usage: check_link.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: check_link.sh BUILD}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
failed=0
complain() { echo "check_link: $*" >&2; failed=1; }

plugin=$build/tests/plugins/linked.so
undefined=$(nm -D --undefined-only "$plugin" | grep -o 'wick_[a-z_0-9]*' || true)
[[ -z $undefined ]] || complain "$plugin needs symbols of the host: $undefined"
exported=$(nm -D --defined-only "$plugin" | awk '$2 ~ /[TDBRVW]/ { print $3 }' | grep -vE '^(_|WICK_)' || true)
[[ $exported == wick_plugin_query ]] || complain "$plugin exports $exported"

# Every public function of the core is in the list, and nothing else is.
functions() {
    tr '\n' ' ' <"$1" | grep -oE 'WICK_API [^;(]*\bwick_[a-z0-9_]+\(' | grep -oE 'wick_[a-z0-9_]+\($' | tr -d '(' || true
}
headers=$(for header in core/include/wick/*.h; do functions "$header"; done | sort)
listed=$(grep -oE '^ +[FVM]\(.*' sdk/include/wick/sdk/api.h | tr '\n' ' ' | grep -oE '[FVM]\(([^,(]*, )?wick_[a-z0-9_]+,' |
    grep -oE 'wick_[a-z0-9_]+,$' | tr -d ',' | sort)
[[ $(wc -l <<<"$headers") -gt 100 ]] || complain "found only $(wc -l <<<"$headers") functions in the headers"
difference=$(diff <(echo "$headers") <(echo "$listed") | grep '^[<>]' || true)
[[ -z $difference ]] || complain "headers (<) and wick/sdk/api.h (>) differ:
$difference"
exit $failed
