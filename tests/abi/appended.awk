# awk -f appended.awk OLDER NEWER: what is in the older offsets file and not, or elsewhere, in the newer one. The sizes of
# structures may grow. Nothing printed: the newer one only appends.
function key() { return $1 == "struct" || $1 == "enum" ? $1 " " $2 : $1 }
function rest() { return $1 == "struct" || $1 == "enum" ? $3 : $2 " " $3 }
FNR == NR { was[key()] = rest(); list[++n] = key(); next }
{ now[key()] = rest() }
END {
    for (i = 1; i <= n; ++i) {
        k = list[i]
        if (!(k in now)) print k " is gone"
        else if (k ~ /^struct / ? now[k] + 0 < was[k] + 0 : now[k] != was[k]) print k ": was " was[k] ", is " now[k]
    }
}
