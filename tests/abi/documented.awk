# awk -f documented.awk NAMES DOCUMENT OFFSETS: fields of the structures NAMES (one a line) that their section of the document,
# headed "### `NAME`", does not name in backquotes.
FILENAME == ARGV[1] { wanted[$1]; next }
FILENAME == ARGV[2] {
    if (/^##/) section = ""
    if (match($0, /^### `[a-z_0-9]+`/)) section = substr($0, 6, RLENGTH - 6)
    if (section) has[section]
    for (rest = $0; section && match(rest, /`[a-z_0-9]+(\[i\])?`/); rest = substr(rest, RSTART + RLENGTH)) {
        word = substr(rest, RSTART + 1, RLENGTH - 2)
        sub(/\[i\]/, "", word)
        named[section, word]
    }
    next
}
$1 == "struct" && $2 in wanted && !($2 in has) { print "has no section ### `" $2 "`" }
NF == 3 && $2 ~ /^[0-9]+$/ && split($1, part, ".") == 2 && part[1] in has && part[1] in wanted {
    if (!((part[1], part[2]) in named)) print "does not tell of " $1
}
