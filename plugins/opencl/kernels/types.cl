/* Conversions of element types that OpenCL C lacks. */
#pragma OPENCL FP_CONTRACT OFF

float load_bf16(ushort bits) { return as_float((uint)bits << 16); }

ushort store_bf16(float value) {
    uint bits = as_uint(value);
    if (isnan(value)) return (ushort)0x7fc0;
    return (ushort)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float round_f16(float value) {
    ushort bits;
    vstore_half_rte(value, 0, (half *)&bits);
    return vload_half(0, (const half *)&bits);
}
