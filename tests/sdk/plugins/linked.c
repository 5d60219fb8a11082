/* A plugin that publishes functions which call wick as an application does. */
#include <wick/sdk/link.h>

#include <wick/sdk/plugin.h>

#include "linked.h"
#include "linked_work.h"

static const linked_table table = {linked_scopes, linked_gradients, linked_errors, linked_operators,
                                   linked_everything_else};

static wick_status *create(const wick_host *host, wick_registrar *registrar, const wick_config *config, void **out) {
    *out = NULL;
    WICK_TRY(wick_sdk_attach(host));
    return host->publish(registrar, "test.linked", 1, &table, NULL);
}

static const wick_plugin_desc descriptor = {WICK_PLUGIN_DESC_BASE, .name = "linked", .create = create};
WICK_PLUGIN(linked, &descriptor)
