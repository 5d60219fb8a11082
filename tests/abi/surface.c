/* What the golden offsets file is made of: check_abi.sh compiles this with every header of the ABI included before, and
 * reads structures and enumerations from its debug information. Here: the ABI's numbers that are macros. */
#define NUMBER(name) value_of_##name = name

enum wick_macro {
    NUMBER(WICK_PLUGIN_MAGIC),
    NUMBER(WICK_MAX_DIMS),
#ifdef WICK_DTYPE_REGISTERED /* since 0.2 */
    NUMBER(WICK_DTYPE_REGISTERED),
#endif
    NUMBER(WICK_DEVICE_TYPE_NONE),
    NUMBER(WICK_DEVICE_TYPE_META),
    NUMBER(WICK_DEVICE_TYPE_LIMIT)
};
