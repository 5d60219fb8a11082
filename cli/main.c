/* The table of commands. */
#include "cli.h"

const command commands[] = {
    {"train", "wick train FILE.ini [--set SECTION.KEY=VALUE]... [--resume] [--out DIR] [--quiet]",
     "train what an INI file describes",
     "  --set SECTION.KEY=VALUE  override a value of the INI; may be repeated\n"
     "  --resume                 go on from the run folder's checkpoint\n"
     "  --out DIR                run folder instead of [train] out\n"
     "  --quiet                  print the result only\n"
     "Layers, losses, optimizers and all keys: wick help train --keys\n",
     run_train},
    {"eval", "wick eval RUN|FILE.ini [--data FILE [--labels FILE]] [--set SECTION.KEY=VALUE]...",
     "loss and accuracy of a saved model",
     "  --data FILE    samples instead of the run's test data, in the format of [data]\n"
     "  --labels FILE  their labels, for formats that keep them apart\n",
     run_eval},
    {"predict", "wick predict RUN|FILE.ini FILE... [--format csv|json]", "predictions of a saved model",
     "  --format csv|json  one line a sample, CSV (default) or JSON\n"
     "FILE holds samples in the format of [data]; a label column that is there is passed over.\n",
     run_predict},
    {"info", "wick info [--why] [--config FILE.ini]", "backends, devices, features of this machine",
     "  --why              each path tried for a backend, and why it was not used\n"
     "  --config FILE.ini  the INI that names the backends\n",
     run_info},
    {"ops", "wick ops [PATTERN] [--backend NAME] [--missing] [--config FILE.ini]", "operators and who implements them",
     "  PATTERN            a part of the name, or a pattern with * and ?\n"
     "  --backend NAME     only what this backend has a kernel for\n"
     "  --missing          only what nothing can run: no kernel (with --backend: of it) and no decomposition\n"
     "  --config FILE.ini  the INI that names the backends\n",
     run_ops},
    {"new", "wick new plugin NAME --kind device|ops|model [--output DIR]", "write a plugin of your own to start from",
     "  --kind device  a device with its own memory and the kernels that train a network\n"
     "  --kind ops     a library of operators\n"
     "  --kind model   a model for [model] plugin = NAME\n"
     "  --output DIR   the project's new folder; default NAME\n"
     "The project builds against the installed wick: CMake, one C file, an INI, tests, README.\n",
     run_new},
    {"check", "wick check PLUGIN.so [--mode MODE[,MODE]...] [--report text|json|html] [OPTION]...",
     "does a plugin keep what the plugin ABI promises?",
     "  --mode MODES          load, memory, ops, grad, stress, perf, or all (default)\n"
     "  --report FORMAT       text (default), json or html\n"
     "  --output FILE         write the report there\n"
     "  --coverage FILE.md    write the table of operators there\n"
     "  --set KEY=VALUE       a key of the plugin's INI section; may be repeated\n"
     "  --known FILE          lines `exclude OP [WORDS] : REASON` and `expect-fail OP [CASE] : REASON`\n"
     "  --only OP             this operator alone\n"
     "  --part K/N            the K-th of N parts of the operators, for several processes or machines\n"
     "  --against NAME        the plugin that computes what is right (default cpu)\n"
     "  --goldens DIR         results recorded from PyTorch, to be met too\n"
     "  --timeout SECONDS     without a word, after which a mode is ended (default 240)\n"
     "  --quick               f32, i64 and bool only, few cycles\n"
     "  --in-process          no child processes, for a debugger\n"
     "Exit code: 0 no failures, 1 failures, 2 wrong usage or unreadable files.\n",
     run_check},
    {"help", "wick help [COMMAND]", "usage of a command", "", run_help},
};
const size_t command_count = sizeof commands / sizeof commands[0];

static const command *find_command(const char *name) {
    for (size_t i = 0; i < command_count; ++i)
        if (!strcmp(commands[i].name, name)) return &commands[i];
    return NULL;
}

static void print_commands(FILE *to) {
    fprintf(to, "usage: wick COMMAND ...\n");
    for (size_t i = 0; i < command_count; ++i) fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].summary);
    fprintf(to, "wick help COMMAND says more; wick --version.\n");
}

/* ---- help ---- */
static void print_layers(void) {
    wick_layer_info layer;
    printf("\nLayers of [model]:\n");
    for (size_t i = 0; wick_layer_describe(i, &layer); ++i)
        printf("  %s%s%s%s\n      %s\n", layer.name, *layer.arguments ? "(" : "", layer.arguments,
               *layer.arguments ? ")" : "", layer.doc);
}

static void print_keys(const wick_config_schema *schema) {
    const char *section = "";
    for (size_t i = 0; i < schema->count; ++i) {
        const wick_config_key *key = &schema->keys[i];
        if (strcmp(section, key->section) != 0) printf("[%s]\n", section = key->section);
        printf("  %-18s %s%s%s\n", key->key, key->choices ? key->choices : "", key->choices ? ": " : "", key->doc);
    }
}

int run_help(int argc, char **argv) {
    const wick_config_schema schemas[] = {wick_runtime_config_schema(), wick_train_config_schema()};
    const command *found = argc > 1 ? find_command(argv[1]) : NULL;
    if (argc < 2) return print_commands(stdout), EXIT_OK;
    if (!found) return usage_error("help", "there is no command '%s'", argv[1]);
    printf("usage: %s\n%s", found->usage, found->help);
    if (found->run != run_train || argc < 3 || strcmp(argv[2], "--keys") != 0) return EXIT_OK;
    print_keys(&schemas[0]);
    print_keys(&schemas[1]);
    print_layers();
    return EXIT_OK;
}

int main(int argc, char **argv) {
    const command *found = argc > 1 ? find_command(argv[1]) : NULL;
    if (found) return found->run(argc - 1, argv + 1);
    if (argc > 1 && !strcmp(argv[1], "--version")) return printf("wick %s\n", WICK_VERSION_STRING), EXIT_OK;
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) return print_commands(stdout), EXIT_OK;
    if (argc > 1) fprintf(stderr, "wick: there is no command '%s'\n", argv[1]);
    print_commands(stderr);
    return EXIT_USAGE;
}
