# Debug information (readelf --debug-dump=info, DWARF 4) -> "struct NAME BYTES", "NAME.FIELD OFFSET BYTES", "enum NAME BYTES",
# "NAME.CONSTANT = VALUE", for names that start with wick_ and have a definition. Structures in the order of their names.
/^ <[0-9a-f]+><[0-9a-f]+>: Abbrev Number: [0-9]+ \(/ {
    split($1, part, /[<>]+/)
    level = part[2]
    at = part[3]
    gsub(/[()]/, "", $NF)
    tag[at] = $NF
    order[++count] = at
    parent[at] = level ? last[level - 1] : ""
    last[level] = at
    next
}
/DW_AT_name/ { name[at] = $NF }
/DW_AT_byte_size/ { size[at] = $NF }
/DW_AT_type / { type[at] = $NF; gsub(/[<>]|0x/, "", type[at]) }
/DW_AT_data_member_location/ { offset[at] = $(NF > 3 && $(NF) ~ /\)/ ? NF - 1 : NF) }
/DW_AT_upper_bound/ { bound[parent[at]] = $NF }
/DW_AT_const_value/ { value[at] = $NF }

function bytes(t) {
    if (t in size) return size[t]
    if (tag[t] == "DW_TAG_array_type") return (bound[t] + 1) * bytes(type[t])
    return type[t] ? bytes(type[t]) : 0
}
function put(root, number, line) { printf "%s\t%05d\t%s\n", root, number, line | sorted }

END {
    sorted = "LC_ALL=C sort -u | cut -f3"
    for (i = 1; i <= count; ++i) {
        at = order[i]
        root = parent[at]
        if (tag[at] ~ /^DW_TAG_(structure|enumeration)_type$/ && name[at] ~ /^wick_/ && at in size)
            put(name[at], 0, (tag[at] ~ /structure/ ? "struct " : "enum ") name[at] " " size[at])
        else if (tag[at] == "DW_TAG_member" && tag[root] == "DW_TAG_structure_type" && name[root] ~ /^wick_/)
            put(name[root], i, name[root] "." name[at] " " offset[at] " " bytes(type[at]))
        else if (tag[at] == "DW_TAG_enumerator" && name[root] ~ /^wick_/)
            put(name[root], i, name[root] "." name[at] " = " value[at])
    }
    close(sorted)
}
