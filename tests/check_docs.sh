#!/usr/bin/env bash
# What the documents quote is what the tree holds: C code word by word, and every key of an INI. Usage: check_docs.sh BUILD
set -euo pipefail
build=$(realpath "${1:?usage: check_docs.sh BUILD}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
failed=0
complain() { echo "check_docs: $*" >&2; failed=1; }

# blocks DOCUMENT: its C blocks (```c or ```c FILE), ended by a NUL each
blocks() { awk '/^```c( |$)/ { on = 1; next } /^```$/ { if (on) printf "%c", 0; on = 0 } on' "$1"; }

# quotes DOCUMENT FILE: each C block of the document is a part of the file
quotes() {
    local block text
    text=$(<"$2")
    while IFS= read -r -d '' block; do
        [[ $text == *"${block%$'\n'}"* ]] || complain "$1: not in $2: ${block%%$'\n'*} ..."
    done < <(blocks "$1")
}

quotes README.md examples/hello.c
[[ $(blocks README.md | tr -d '\0') == "$(<examples/hello.c)" ]] || complain "README.md does not show all of examples/hello.c"
quotes docs/plugin-guide.md examples/plugin/tiny.c
# Its blocks, with a blank line between, are the whole file: tests/check_guide_slow.sh builds them.
[[ $(blocks docs/plugin-guide.md | sed 's/\x00/\n/g') == "$(<examples/plugin/tiny.c)" ]] ||
    complain "docs/plugin-guide.md does not show all of examples/plugin/tiny.c"

# The guide lists the kernels of the device that `wick new` writes; there are at most 40.
template=$(sed -nE 's/^    (ELEMENTWISE|STRIDED|PACKED|KERNEL)\(([A-Za-z0-9_]+), .*/\2/p' sdk/template/device/plugin.c.in |
    grep -vx schema | sort)
guide=$(sed -n '/^| kind | kernels |/,/^$/p' docs/plugin-guide.md | grep -oE '`[^`]+`' | tr -d '`' | tr . _ | sort)
[[ $template == "$guide" ]] || complain "docs/plugin-guide.md: the list of kernels is not that of sdk/template/device"
(($(wc -l <<<"$guide") <= 40)) || complain "a device needs more than 40 kernels: $(wc -l <<<"$guide")"

# "section key" of every key that the command prints
keys() { "$build/bin/wick" help train --keys | awk '/^Layers of/ { exit } /^\[/ { section = $1 } /^  / && section { print section, $1 }'; }

while read -r section key; do
    awk -v section="$section" -v key="| \`$key\` |" '
        /^### / { here = index($0, section) > 0 }
        here && index($0, key) { found = 1 }
        END { exit !found }' docs/config.md || complain "docs/config.md: no key $key in $section"
done < <(keys | sort -u)

# A plugin's README and the page on configuration have the same keys.
keys_of() { sed -nE '/^\| `?key`? \|/,/^$/s/^\| `?([a-z_]+)`? \|.*/\1/p' "$1" | grep -vx key | sort -u; }
section_of() { sed -n "/\`\[plugin.$1\]\`.*:$/,/^Keys of\|^##/p" docs/config.md; }
for plugin in opencl:plugins/opencl/README.md refdevice:sdk/refdevice/README.md; do
    readme=$(keys_of "${plugin#*:}" | tr '\n' ' ') page=$(keys_of /dev/stdin <<<"$(section_of "${plugin%%:*}")" | tr '\n' ' ')
    [[ -n $readme && $readme == "$page" ]] || complain "docs/config.md: [plugin.${plugin%%:*}] has keys $page, its README $readme"
done

# Every function of the elementwise table is explained.
while read -r name; do
    grep -q "\`$name[\`(]" docs/plugin-kernels.md || complain "docs/plugin-kernels.md: no $name of wick/sdk/pointwise.inc"
done < <(grep -v '^ \*' sdk/include/wick/sdk/pointwise.inc | grep -oE '\bm_[a-z0-9_]+' | sort -u)

# Links within the tree lead somewhere.
while IFS=: read -r page target; do
    [[ -e $(dirname "$page")/$target ]] || complain "$page: there is no $target"
done < <(grep -HoE '\]\([^)#:]+' README.md CONTRIBUTING.md CHANGELOG.md docs/*.md docs/coverage/*.md plugins/*/README.md sdk/*/README.md |
    sed 's/:](/:/')
exit $failed
