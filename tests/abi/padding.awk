# Of an offsets file: each table (it starts with struct_size) in which bytes lie between two fields or after the last one.
function check_end() { if (table && end != size) print name " has " size - end " bytes of padding at its end" }
$1 == "struct" {
    check_end()
    name = $2
    size = $3
    end = 0
    table = 0
    next
}
$1 == "enum" { check_end(); table = 0; next }
NF == 3 && $2 != "=" {
    if ($2 == 0) table = $1 ~ /\.struct_size$/
    else if (table && $2 != end) print name " has " $2 - end " bytes of padding before " $1
    end = $2 + $3
}
END { check_end() }
