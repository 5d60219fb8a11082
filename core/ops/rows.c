#include "rows.h"

const op_row op_rows[] = {
#include "table.inc"
};

const int op_row_count = ARRAY_COUNT(op_rows);
