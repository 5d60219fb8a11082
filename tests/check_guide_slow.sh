#!/usr/bin/env bash
# Follows docs/plugin-guide.md word by word against an installed wick, in an empty folder: writes the files of its blocks
# (```LANGUAGE FILE; blocks of one file are joined), runs its commands (```sh), and looks for the lines of the ```text
# that follows them in what they printed. Usage: check_guide_slow.sh BUILD
set -euo pipefail
build=${1:?usage: check_guide_slow.sh BUILD}
if grep -qE '^WICK_(SANITIZE:STRING=.+|FUZZERS:BOOL=ON)' "$build/CMakeCache.txt"; then exit 0; fi
guide=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../docs/plugin-guide.md")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
DESTDIR='' cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
unset WICK_PLUGIN_PATH WICK_CONFIG
export XDG_CONFIG_HOME=$work PATH=$work/prefix/bin:$PATH CMAKE_PREFIX_PATH=$work/prefix
mkdir "$work/empty"
cd "$work/empty"
output=$work/output
fail() { echo "check_guide: $*" >&2; exit 1; }

run() {
    local where=$work/where
    if ! bash -euo pipefail -c "$1
pwd >'$where'" >"$output" 2>&1; then
        cat "$output" >&2
        fail "failed: $1"
    fi
    cd "$(<"$where")"
}

look() {
    local line
    while IFS= read -r line; do
        grep -qF -- "$line" "$output" || { cat "$output" >&2; fail "not printed: $line"; }
    done <<<"$1"
}

commands=0 files=0 texts=0 block='' kind='' file=''
while IFS= read -r line; do
    if [[ -z $kind && $line == '```'?* ]]; then
        read -r kind file <<<"${line#'```'} "
        block=''
    elif [[ $line == '```' ]]; then
        case $kind:$file in
        sh:) run "$block"; commands=$((commands + 1)) ;;
        text:) look "${block%$'\n'}"; texts=$((texts + 1)) ;;
        *:?*) if [[ $kind == c && -f $file ]]; then echo >>"$file"; fi
            printf '%s' "$block" >>"$file"; files=$((files + 1)) ;;
        *) fail "a block of '$kind' without a file" ;;
        esac
        kind=''
    elif [[ -n $kind ]]; then
        block+=$line$'\n'
    fi
done <"$guide"
((commands >= 8 && files >= 10 && texts >= 5)) || fail "only $commands commands, $files blocks of files, $texts outputs"
