/* Sizes and strides of up to five operands; see src/view.h. Dimension 0 is the innermost. */
typedef struct {
    long numel;
    long ndim;
    long sizes[8];
    long strides[5][8];
} view;

/* Position of operand k at element i of the walking order. */
long view_at(const view *v, INDEX i, int k) {
    long at = 0;
    for (int d = 0; d < (int)v->ndim; ++d) {
        INDEX size = (INDEX)v->sizes[d];
        at += (long)(i % size) * v->strides[k][d];
        i /= size;
    }
    return at;
}

/* Positions of the first n operands. */
void view_locate(const view *v, INDEX i, long *at, int n) {
    for (int k = 0; k < n; ++k) at[k] = 0;
    for (int d = 0; d < (int)v->ndim; ++d) {
        INDEX size = (INDEX)v->sizes[d], c = i % size;
        i /= size;
        for (int k = 0; k < n; ++k) at[k] += (long)c * v->strides[k][d];
    }
}

/* Position in every dimension and for the first n operands, at element i. */
void view_start(const view *v, INDEX i, INDEX *place, long *at, int n) {
    for (int d = 0; d < (int)v->ndim; ++d) {
        const INDEX size = (INDEX)v->sizes[d];
        place[d] = i % size, i /= size;
        for (int k = 0; k < n; ++k) at[k] += (long)place[d] * v->strides[k][d];
    }
}

/* On to the next element. */
void view_step(const view *v, INDEX *place, long *at, int n) {
    for (int d = 0; d < (int)v->ndim; ++d) {
        for (int k = 0; k < n; ++k) at[k] += v->strides[k][d];
        if (++place[d] < (INDEX)v->sizes[d]) return;
        for (int k = 0; k < n; ++k) at[k] -= v->sizes[d] * v->strides[k][d];
        place[d] = 0;
    }
}
