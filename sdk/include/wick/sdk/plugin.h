/* wick/sdk/plugin.h: the whole plugin ABI. A plugin is a shared object that exports exactly one symbol, made by
 * WICK_PLUGIN() (wick/sdk/abi.h), and links nothing of wick: everything it needs comes through the wick_host table
 * (wick/sdk/host.h) that create() receives, or that the first word of any wick_context points to.
 *
 *     wick/sdk/abi.h        versions, the descriptor, the entry
 *     wick/sdk/kernel.h     one call of one kernel, its row
 *     wick/sdk/interface.h  a backend and its optional interfaces: memory, stream, event, ...
 *     wick/sdk/operator.h   operators of the plugin's own
 *     wick/sdk/host.h       what wick offers
 * and, for those who want them: wick/sdk/iter.h (broadcast iteration), wick/sdk/element.h (dtype casts),
 * wick/sdk/loops.h (elementwise and reduction loops), wick/sdk/random.h (random numbers), wick/sdk/pointwise.inc (every
 * elementwise operator as an expression), wick/sdk/schemas.h (schema texts), wick/sdk/link.h (the application's
 * functions inside a plugin). docs/plugin-kernels.md says what kernels are given. */
#ifndef WICK_SDK_PLUGIN_H
#define WICK_SDK_PLUGIN_H

#include <wick/sdk/abi.h>
#include <wick/sdk/host.h>
#include <wick/sdk/interface.h>
#include <wick/sdk/kernel.h>
#include <wick/sdk/operator.h>

#endif
