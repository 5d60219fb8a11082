/* The report: one HTML page, SVG inside. */
#include "nn.h"

#include <math.h>
#include <wick/file.h>
#include <wick/report.h>

#define SHOWN_SAMPLES 40
#define SHOWN_CLASSES 40
#define PICTURE_PIXELS 64 /* pictures larger than that on a side are not drawn */

static void add_escaped(text *t, const char *s) {
    for (; *s; ++s) {
        const char *entity = *s == '<'   ? "&lt;"
                             : *s == '>' ? "&gt;"
                             : *s == '&' ? "&amp;"
                             : *s == '"' ? "&quot;"
                                         : NULL;
        text_add_bytes(t, entity ? entity : s, entity ? strlen(entity) : 1);
    }
}

/* ---- curves ---- */
enum { PLOT_WIDTH = 460, PLOT_HEIGHT = 240, MARGIN_LEFT = 52, MARGIN_RIGHT = 12, MARGIN_TOP = 10, MARGIN_BOTTOM = 26 };

typedef struct plot {
    const wick_epoch_metrics *lines;
    size_t count;
    double low, high;
} plot;

typedef struct curve {
    size_t column; /* of wick_epoch_metrics, in doubles */
    const char *name, *css;
} curve;

static double value_at(const wick_epoch_metrics *line, size_t column) { return (&line->epoch)[column]; }

static double x_of(const plot *p, size_t i) {
    double share = p->count > 1 ? (double)i / (double)(p->count - 1) : 0.5;
    return MARGIN_LEFT + share * (PLOT_WIDTH - MARGIN_LEFT - MARGIN_RIGHT);
}
static double y_of(const plot *p, double value) {
    double share = p->high > p->low ? (value - p->low) / (p->high - p->low) : 0.5;
    return PLOT_HEIGHT - MARGIN_BOTTOM - share * (PLOT_HEIGHT - MARGIN_TOP - MARGIN_BOTTOM);
}

static void find_range(plot *p, const curve *curves, size_t n) {
    p->low = INFINITY, p->high = -INFINITY;
    for (size_t i = 0; i < p->count; ++i)
        for (size_t k = 0; k < n; ++k) {
            double value = value_at(&p->lines[i], curves[k].column);
            if (isfinite(value)) p->low = fmin(p->low, value), p->high = fmax(p->high, value);
        }
}

static void add_axes(text *t, const plot *p) {
    for (int i = 0; i <= 4; ++i) {
        double value = p->low + (p->high - p->low) * i / 4, y = y_of(p, value);
        text_add(t, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", MARGIN_LEFT,
                 PLOT_WIDTH - MARGIN_RIGHT, y, y);
        text_add(t, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>", MARGIN_LEFT - 6, y + 4, value);
    }
    text_add(t, "<text x=\"%.1f\" y=\"%d\">epoch %g</text>", x_of(p, 0), PLOT_HEIGHT - 8, p->lines[0].epoch);
    if (p->count > 1)
        text_add(t, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%g</text>", PLOT_WIDTH - MARGIN_RIGHT, PLOT_HEIGHT - 8,
                 p->lines[p->count - 1].epoch);
}

static void add_curve(text *t, const plot *p, const curve *k) {
    text_add(t, "<polyline class=\"%s\" points=\"", k->css);
    for (size_t i = 0; i < p->count; ++i) {
        double value = value_at(&p->lines[i], k->column);
        if (isfinite(value)) text_add(t, "%.1f,%.1f ", x_of(p, i), y_of(p, value));
    }
    text_add(t, "\"/>");
    for (size_t i = 0; i < p->count; ++i) {
        double value = value_at(&p->lines[i], k->column);
        if (isfinite(value))
            text_add(
                t, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"><title>%s, epoch %g: %.5g</title></circle>",
                k->css, x_of(p, i), y_of(p, value), k->name, p->lines[i].epoch, value);
    }
}

static void add_plot(text *t, const char *title, const wick_report *r, const curve *curves, size_t n) {
    plot p = {r->metrics, r->metrics_count, 0, 0};
    find_range(&p, curves, n);
    if (!(p.high >= p.low)) return;
    text_add(t, "<figure><figcaption>%s", title);
    for (size_t k = 0; k < n; ++k) text_add(t, " <span class=\"%s\">%s</span>", curves[k].css, curves[k].name);
    text_add(t, "</figcaption><svg width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"%s\">", PLOT_WIDTH, PLOT_HEIGHT,
             title);
    add_axes(t, &p);
    for (size_t k = 0; k < n; ++k) add_curve(t, &p, &curves[k]);
    text_add(t, "</svg></figure>\n");
}

#define COLUMN(field) (offsetof(wick_epoch_metrics, field) / sizeof(double))
static void add_plots(text *t, const wick_report *r) {
    static const curve loss[] = {{COLUMN(train_loss), "training", "train"}, {COLUMN(test_loss), "test", "test"}};
    static const curve accuracy[] = {{COLUMN(train_accuracy), "training", "train"},
                                     {COLUMN(test_accuracy), "test", "test"}};
    static const curve rate[] = {{COLUMN(lr), "learning rate", "train"}};
    if (!r->metrics_count) return;
    text_add(t, "<section class=\"row\">\n");
    add_plot(t, "Loss", r, loss, COUNT(loss));
    add_plot(t, "Accuracy", r, accuracy, COUNT(accuracy));
    add_plot(t, "Learning rate", r, rate, COUNT(rate));
    text_add(t, "</section>\n");
}

/* ---- confusion matrix ---- */
static void add_cell(text *t, int64_t count, int64_t row_sum, bool hit) {
    double share = row_sum ? (double)count / (double)row_sum : 0;
    if (!count) {
        text_add(t, "<td></td>");
        return;
    }
    text_add(t, "<td style=\"background:%s%.2f)\" title=\"%.1f%%\">%lld</td>",
             hit ? "rgba(30,120,80," : "rgba(200,50,40,", 0.15 + 0.6 * share, 100 * share, (long long)count);
}

static void add_confusion(text *t, const wick_evaluation *e) {
    if (!e || !e->confusion || e->classes > SHOWN_CLASSES) return;
    text_add(t, "<h2>Confusion matrix</h2><table class=\"matrix\"><tr><th>class \\ predicted</th>");
    for (int64_t k = 0; k < e->classes; ++k) text_add(t, "<th>%lld</th>", (long long)k);
    text_add(t, "</tr>\n");
    for (int64_t row = 0; row < e->classes; ++row) {
        const int64_t *counts = e->confusion + row * e->classes;
        int64_t sum = 0;
        for (int64_t k = 0; k < e->classes; ++k) sum += counts[k];
        text_add(t, "<tr><th>%lld</th>", (long long)row);
        for (int64_t k = 0; k < e->classes; ++k) add_cell(t, counts[k], sum, k == row);
        text_add(t, "</tr>\n");
    }
    text_add(t, "</table>\n");
}

/* ---- pictures ---- */
typedef struct picture {
    int64_t height, width, planes;
} picture;

/* [H, W], [1, H, W] and [3, H, W] are pictures; so is a square number of features. */
static bool is_picture(const wick_dataset_info *info, picture *p) {
    const wick_dim *s = info->sizes;
    int64_t side = (int64_t)lround(sqrt((double)s[0]));
    if (info->ndim == 3 && (s[0] == 1 || s[0] == 3))
        *p = (picture){s[1], s[2], s[0]};
    else if (info->ndim == 2)
        *p = (picture){s[0], s[1], 1};
    else if (info->ndim == 1 && side > 3 && side * side == s[0])
        *p = (picture){side, side, 1};
    else
        return false;
    return p->height <= PICTURE_PIXELS && p->width <= PICTURE_PIXELS;
}

static void range_of(const float *x, int64_t n, float *low, float *high) {
    *low = *high = x[0];
    for (int64_t i = 1; i < n; ++i) *low = fminf(*low, x[i]), *high = fmaxf(*high, x[i]);
}

static int level(float value, float low, float high) {
    return high > low ? (int)lroundf(255 * (value - low) / (high - low)) : 0;
}

static void add_pixels(text *t, const picture *p, const float *x) {
    float low, high;
    int64_t plane = p->height * p->width;
    range_of(x, plane * p->planes, &low, &high);
    text_add(t, "<svg viewBox=\"0 0 %lld %lld\" shape-rendering=\"crispEdges\">", (long long)p->width,
             (long long)p->height);
    for (int64_t i = 0; i < plane; ++i) {
        int rgb[3];
        for (int64_t k = 0; k < 3; ++k) rgb[k] = level(x[i + (p->planes == 3 ? k * plane : 0)], low, high);
        if (!(rgb[0] | rgb[1] | rgb[2])) continue; /* as the background */
        text_add(t, "<path fill=\"#%02x%02x%02x\" d=\"M%lld %lldh1v1h-1z\"/>", rgb[0], rgb[1], rgb[2],
                 (long long)(i % p->width), (long long)(i / p->width));
    }
    text_add(t, "</svg>");
}

/* The model's certainty in what it predicted: softmax. */
static double certainty(const wick_evaluation *e, int64_t i) {
    const float *y = e->values + i * e->outputs;
    double sum = 0, top = y[e->predicted[i]];
    for (int64_t k = 0; k < e->outputs; ++k) sum += exp(y[k] - top);
    return 1 / sum;
}

/* Samples to show: the mistakes first, then others. */
static int64_t choose_samples(const wick_evaluation *e, const int64_t *targets, int64_t *chosen) {
    int64_t n = 0;
    for (int pass = 0; pass < 2; ++pass)
        for (int64_t i = 0; i < e->count && n < (pass ? SHOWN_SAMPLES : SHOWN_SAMPLES / 2); ++i)
            if ((targets[i] != e->predicted[i]) == !pass) chosen[n++] = i;
    return n;
}

static wick_status *fetch_targets(const wick_dataset *d, int64_t count, float *x, int64_t *targets) {
    for (int64_t i = 0; i < count; ++i) WICK_TRY(wick_dataset_fetch(d, &i, 1, x, &targets[i]));
    return NULL;
}

static wick_status *add_chosen(text *t, const wick_report *r, const picture *p, float *x, const int64_t *targets) {
    int64_t chosen[SHOWN_SAMPLES], n = choose_samples(r->test, targets, chosen), target;
    text_add(t, "<h2>Samples of the test set</h2><p>Mistakes come first.</p><section class=\"samples\">\n");
    for (int64_t i = 0; i < n; ++i) {
        int64_t k = chosen[i];
        WICK_TRY(wick_dataset_fetch(r->samples, &k, 1, x, &target));
        bool hit = target == r->test->predicted[k];
        text_add(t, "<figure class=\"%s\">", hit ? "hit" : "miss");
        add_pixels(t, p, x);
        text_add(t, "<figcaption>%d (%.0f%%)", r->test->predicted[k], 100 * certainty(r->test, k));
        if (!hit) text_add(t, ", is %lld", (long long)target);
        text_add(t, "</figcaption></figure>\n");
    }
    text_add(t, "</section>\n");
    return NULL;
}

static wick_status *add_samples(text *t, const wick_report *r) {
    picture p;
    if (!r->samples || !r->test || !r->test->confusion) return NULL;
    const wick_dataset_info info = wick_dataset_describe(r->samples);
    int64_t elements = wick_dataset_elements(r->samples);
    if (!is_picture(&info, &p) || info.count != r->test->count) return NULL;
    float *x = malloc((size_t)elements * sizeof *x);
    int64_t *targets = malloc((size_t)info.count * sizeof *targets);
    wick_status *status = NULL;
    if (!x || !targets)
        t->failed = true;
    else
        status = fetch_targets(r->samples, info.count, x, targets);
    if (!t->failed && !status) status = add_chosen(t, r, &p, x, targets);
    free(x);
    free(targets);
    return status;
}

/* ---- the page ---- */
static const char style[] =
    "body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:1100px;padding:0 1em;color:#222;background:#fff}"
    "h1{font-size:1.4em}h2{font-size:1.15em;margin-top:2em}figure{margin:0}figcaption{font-size:.85em}"
    ".row{display:flex;flex-wrap:wrap;gap:1em}svg text{font-size:11px;fill:#777}.grid{stroke:#ddd}"
    "polyline{fill:none;stroke-width:2}polyline.train{stroke:#2a6fbb}polyline.test{stroke:#d9822b}"
    "circle.train{fill:#2a6fbb}circle.test{fill:#d9822b}span.train{color:#2a6fbb}span.test{color:#d9822b}"
    "table{border-collapse:collapse}td,th{padding:.25em .55em;text-align:right;font-variant-numeric:tabular-nums}"
    ".matrix td{border:1px solid #ddd;min-width:2em}.numbers tr{border-bottom:1px solid #ddd}"
    ".samples{display:flex;flex-wrap:wrap;gap:.7em}.samples svg{width:72px;height:72px;background:#000;display:block}"
    ".samples figure{border:3px solid #3a8f63;padding:2px}.samples figure.miss{border-color:#c83228}"
    "pre{background:#f4f4f4;padding:1em;overflow:auto}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}pre{background:#222}.grid{stroke:#333}"
    ".matrix td,.numbers tr{border-color:#333}}";

static void add_number(text *t, double value, const char *format) {
    text_add(t, "<td>");
    if (isfinite(value)) text_add(t, format, value);
    text_add(t, "</td>");
}

static void add_numbers(text *t, const wick_report *r) {
    static const char *const formats[] = {"%.0f", "%.5f", "%.4f", "%.5f", "%.4f", "%.3g", "%.2f", "%.0f"};
    text_add(t,
             "<details><summary>All numbers</summary><table class=\"numbers\"><tr><th>epoch</th><th>training loss</th>"
             "<th>accuracy</th><th>test loss</th><th>accuracy</th><th>learning rate</th><th>seconds</th>"
             "<th>samples/s</th></tr>\n");
    for (size_t i = 0; i < r->metrics_count; ++i) {
        text_add(t, "<tr>");
        for (size_t k = 0; k < COUNT(formats); ++k) add_number(t, value_at(&r->metrics[i], k), formats[k]);
        text_add(t, "</tr>\n");
    }
    text_add(t, "</table></details>\n");
}

static void add_summary(text *t, const wick_report *r) {
    double seconds = 0;
    for (size_t i = 0; i < r->metrics_count; ++i) seconds += r->metrics[i].seconds;
    text_add(t, "<p>%zu epochs, %.1f s of training", r->metrics_count, seconds);
    if (r->test && isfinite(r->test->accuracy))
        text_add(t, "; <b>%.2f%%</b> of %lld test samples right", 100 * r->test->accuracy, (long long)r->test->count);
    if (r->test && isfinite(r->test->loss)) text_add(t, ", loss %.4f", r->test->loss);
    text_add(t, ".</p>\n");
}

static void add_listing(text *t, const char *title, const char *listing) {
    if (!listing) return;
    text_add(t, "<h2>%s</h2><pre>", title);
    add_escaped(t, listing);
    text_add(t, "</pre>\n");
}

static wick_status *build(text *t, const wick_report *r) {
    text_add(t, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
    add_escaped(t, r->title);
    text_add(t, "</title><style>%s</style></head><body>\n<h1>", style);
    add_escaped(t, r->title);
    text_add(t, "</h1>\n");
    add_summary(t, r);
    add_plots(t, r);
    add_numbers(t, r);
    add_confusion(t, r->test);
    WICK_TRY(add_samples(t, r));
    add_listing(t, "Model", r->model);
    add_listing(t, "INI as run", r->config);
    text_add(t, "</body></html>\n");
    return t->failed ? WICK_ERROR(WICK_OUT_OF_MEMORY, "no memory for the report") : NULL;
}

wick_status *wick_report_write(const wick_report *report, const char *path) {
    text t = {0};
    wick_status *status = build(&t, report);
    if (!status) status = wick_file_replace(path, t.data, t.bytes);
    free(t.data);
    return status;
}
