#!/usr/bin/env bash
# The plugin ABI against what is committed in tests/abi for its version: layout (offsets-M.m.txt), signatures
# (abi-M.m.xml.xz, where abidiff is installed) and libwick's symbols (exports-M.m.txt, which may grow).
# Usage: check_abi.sh BUILD [--update]
set -euo pipefail
build=$(realpath "${1:?usage: check_abi.sh BUILD [--update]}")
update=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=tests/abi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
complain() { echo "$*"; failed=1; }
number() { sed -n "s/^#define WICK_ABI_$1 //p" sdk/include/wick/sdk/abi.h; }
version=$(number MAJOR).$(number MINOR)
offsets=$folder/offsets-$version.txt exports=$folder/exports-$version.txt signatures=$folder/abi-$version.xml.xz
if [[ $(getconf LONG_BIT) != 64 ]]; then
    echo "skipped: the files in $folder are those of 64-bit machines"
    exit 0
fi

# ---- the checks themselves: each must find what it is made for ----
rejects() { [[ -n $(awk -f "$@") ]] || complain "$1 finds nothing wrong in a case made for it"; }
table=$'struct wick_t 24\nwick_t.struct_size 0 4\nwick_t.a 8 8\nwick_t.b 16 8'
echo "$table" | rejects $folder/padding.awk /dev/stdin
echo "$table" | sed 's/struct_size 0 4/struct_size 0 8/; s/24/32/' | rejects $folder/padding.awk /dev/stdin
echo "$table" >"$work/older"
sed '/\.b/d' "$work/older" >"$work/newer"
rejects $folder/appended.awk "$work/older" "$work/newer"
sed 's/a 8/c 8/; s/b 16/a 16/; s/c 8/b 8/' "$work/older" >"$work/newer"
rejects $folder/appended.awk "$work/older" "$work/newer"

# ---- layout ----
$folder/layout.sh . "$work/surface.so" >"$work/offsets.txt"
while read -r line; do
    complain "$line: add explicit reserved fields, so that the size tells which fields are there"
done < <(awk -f $folder/padding.awk "$work/offsets.txt")
# From 1.0 on a minor only appends to the one before.
older=""
for file in $(printf '%s\n' $folder/offsets-*.txt | sort -V); do
    this=$(basename "$file" .txt)
    this=${this#offsets-}
    if [[ -n $older && ${this%.*} != 0 && ${this%.*} == "${older%.*}" ]]; then
        awk -f $folder/appended.awk "$folder/offsets-$older.txt" "$file" | sed "s/^/$older -> $this: /" >"$work/moved"
        [[ ! -s $work/moved ]] || { cat "$work/moved"; complain "a minor version may only append"; }
    fi
    older=$this
done

# ---- signatures ----
has_abigail() { command -v abidw >/dev/null && command -v abidiff >/dev/null; }
if has_abigail; then
    abidw --no-corpus-path --no-comp-dir-path --no-show-locs --type-id-style hash "$work/surface.so" >"$work/abi.xml"
fi

# ---- symbols ----
nm -D --defined-only "$build/lib/libwick.so" | awk '$3 ~ /^wick_/ {print $3}' | LC_ALL=C sort >"$work/exports.txt"

if [[ $update == --update ]]; then
    has_abigail || { echo "abidw and abidiff are missing: ./dev deps all"; exit 1; }
    cp "$work/offsets.txt" "$offsets"
    cp "$work/exports.txt" "$exports"
    xz -9c "$work/abi.xml" >"$signatures"
    echo "wrote $offsets, $exports and $signatures"
    exit $failed
fi

how="An ABI change that is meant: before the version is released run
    tests/check_abi.sh BUILD --update && tests/abi/keep.sh        and describe it in CHANGELOG.md;
afterwards raise WICK_ABI_MINOR in sdk/include/wick/sdk/abi.h first, so that new files are made beside the old ones (0.x:
anything may change; from 1.0 on fields, slots and constants are only appended), and tests/abi/keep.sh keeps a binary."
changed=0
explain() { failed=1 changed=1; }

if [[ ! -f $offsets || ! -f $exports || ! -f $signatures ]]; then
    echo "no $offsets, $exports or $signatures: ABI $version is new"
    echo "$how"
    exit 1
fi
diff -u "$offsets" "$work/offsets.txt" || explain
gone=$(LC_ALL=C comm -23 "$exports" "$work/exports.txt")
[[ -z $gone ]] || { complain "libwick.so no longer exports: ${gone//$'\n'/ }"; explain; }
if has_abigail; then
    xz -dc "$signatures" >"$work/before.xml"
    abidiff --leaf-changes-only --no-show-locs "$work/before.xml" "$work/abi.xml" || explain
else
    echo "signatures were not compared: abidiff is missing (./dev deps all)"
fi

((changed == 0)) || echo "$how"

# ---- documentation: every field of what plugins fill in or are given ----
grep -hoE '^(typedef )?struct wick_[a-z_]+ \{' sdk/include/wick/sdk/{abi,host,interface,kernel,model,operator}.h |
    grep -oE 'wick_[a-z_]+' >"$work/names.txt"
awk -f $folder/documented.awk "$work/names.txt" docs/plugin-abi.md "$work/offsets.txt" >"$work/untold.txt"
[[ ! -s $work/untold.txt ]] || complain "docs/plugin-abi.md $(<"$work/untold.txt")"
echo "### \`wick_tensor\`" | awk -f $folder/documented.awk <(echo wick_tensor) - "$work/offsets.txt" | grep -q wick_tensor.numel ||
    complain "documented.awk finds nothing wrong in a case made for it"

# ---- kept binaries: each with its source, layout and the way it was built ----
for binary in $folder/x86-64/kept-*.so; do
    base=${binary%.so}
    kept=${base##*/kept-}
    [[ -f $base.c && -f $base.txt && -f $folder/offsets-$kept.txt ]] ||
        complain "$binary: its source, $base.txt or offsets-$kept.txt is missing"
    told() { grep -q "^$1 $(sha256sum <"$2" | cut -d' ' -f1)$" "$base.txt"; }
    told sha256 "$binary" || complain "$binary is not what $base.txt says"
    told layout "$folder/offsets-$kept.txt" ||
        complain "$binary was built for another layout than offsets-$kept.txt: before the release run tests/abi/keep.sh"
done
exit $failed
