/* wick train */
#include "cli.h"

#include <wick/graph.h>

#include <signal.h>

static volatile sig_atomic_t interrupted;

/* The second signal ends the program at once. */
static void on_signal(int number) { interrupted = 1; }

static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND | SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static bool should_stop(void *user) { return interrupted; }

static void say_how_to_resume(const char *ini, const options *o) {
    fprintf(stderr, "go on with: wick train %s", ini);
    for (size_t i = 0; i < o->set_count; ++i) fprintf(stderr, " --set %s", o->sets[i]);
    if (o->out) fprintf(stderr, " --out %s", o->out);
    fprintf(stderr, " --resume\n");
}

static void say_graphs(const wick_trainer *t, const options *o) {
    const wick_step_graph *graph = wick_trainer_graph(t);
    wick_step_graph_info info = {.struct_size = sizeof info};
    if (!graph || o->quiet) return;
    wick_step_graph_describe(graph, &info);
    printf("graphs: %llu of %llu steps replayed, %llu captured, %llu given up%s%s\n", (unsigned long long)info.replays,
           (unsigned long long)info.steps, (unsigned long long)info.captures, (unsigned long long)info.fallbacks,
           *info.reason ? ": " : "", info.reason);
}

static wick_status *train(session *s, const options *o) {
    progress p;
    wick_experiment *e = NULL;
    wick_trainer *t = NULL;
    progress_begin(&p, o->quiet);
    wick_trainer_options options = WICK_TRAINER_OPTIONS_INIT;
    options.resume = o->resume;
    options.event = progress_event, options.should_stop = should_stop, options.user = &p;
    wick_status *status = wick_experiment_create(s->c, s->config, 0, &e);
    if (!status) status = wick_trainer_create(e, &options, &t);
    if (!status) status = wick_trainer_run(t);
    progress_end(&p);
    if (!status) say_graphs(t, o);
    wick_trainer_free(t);
    wick_experiment_free(e);
    return status;
}

int run_train(int argc, char **argv) {
    options o;
    session s;
    if (!parse_options("train", argc, argv, "sroq", &o)) return EXIT_USAGE;
    if (argc - optind != 1) return usage_error("train", "wanted one INI file, got %d arguments", argc - optind);
    catch_signals();
    int code = session_open(&s, argv[optind], &o);
    if (!code) {
        wick_status *status = train(&s, &o);
        bool stopped = wick_status_code(status) == WICK_CANCELLED;
        code = report(status, EXIT_FAILED);
        if (stopped) say_how_to_resume(argv[optind], &o);
    }
    session_close(&s);
    return code;
}
