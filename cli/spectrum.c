/* The spectrum as a table and as text, and what can be said of it in numbers.
 *
 * The peak. Reads that cover a genome c times give a spectrum that falls from the errors (k-mers seen once)
 * into a valley and rises to a peak near c. The curve is smoothed with a window that grows with the count;
 * the valley is its first minimum, the peak the maximum after. It is told only if it stands well above the
 * valley. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "spectrum.h"

#define PEAK_RANGE 4096u
#define BAR_CELLS  44u

int spectrum_form_of(const char *path, spectrum_form *form)
{
    static const struct {
        const char *suffix;
        spectrum_form form;
    } forms[] = {{".svg", SPECTRUM_SVG}, {".txt", SPECTRUM_TEXT}, {".tsv", SPECTRUM_TABLE}};
    *form = SPECTRUM_TEXT;
    if (!strcmp(path, "-"))
        return 1;
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (n > 4 && !strcmp(path + n - 4, forms[i].suffix)) {
            *form = forms[i].form;
            return 1;
        }
    }
    return 0;
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

static uint64_t peak_find(const spectrum *spectrum)
{
    double *number = calloc(PEAK_RANGE + 1, sizeof *number), *smooth = calloc(PEAK_RANGE + 1, sizeof *smooth);
    uint64_t peak = 0;
    if (number && smooth) {
        for (size_t i = 0; i < spectrum->n && spectrum->entries[i].times <= PEAK_RANGE; i++)
            number[spectrum->entries[i].times] = (double)spectrum->entries[i].number;
        for (size_t t = 1; t <= PEAK_RANGE; t++) {
            size_t reach = t / 8, first = t - reach, last = t + reach < PEAK_RANGE ? t + reach : PEAK_RANGE;
            for (size_t u = first; u <= last; u++)
                smooth[t] += number[u];
            smooth[t] /= (double)(last - first + 1);
        }
        size_t valley = 1;
        while (valley < PEAK_RANGE && smooth[valley + 1] <= smooth[valley])
            valley++;
        size_t top = valley;
        for (size_t t = valley; t <= PEAK_RANGE; t++)
            if (smooth[t] > smooth[top])
                top = t;
        if (top > 2 && smooth[top] > 1.5 * smooth[valley] && smooth[top] >= 8)
            peak = top;
    }
    free(number);
    free(smooth);
    return peak;
}

void spectrum_summarise(const spectrum *spectrum, spectrum_summary *summary)
{
    memset(summary, 0, sizeof *summary);
    for (size_t i = 0; i < spectrum->n; i++) {
        summary->total += spectrum->entries[i].times * spectrum->entries[i].number;
        summary->distinct += spectrum->entries[i].number;
        summary->most = spectrum->entries[i].times;
    }
    if (spectrum->n && spectrum->entries[0].times == 1)
        summary->once = spectrum->entries[0].number;
    summary->peak = peak_find(spectrum);
}

/* ---- table --------------------------------------------------------------------------------------------- */

static int write_table(const spectrum *spectrum, output *output, fault *fault)
{
    for (size_t i = 0; i < spectrum->n; i++) {
        char *to = output_room(output, 64, fault);
        if (!to)
            return fault->status;
        size_t n = text_digits(to, spectrum->entries[i].times);
        to[n++] = '\t';
        n += text_digits(to + n, spectrum->entries[i].number);
        to[n++] = '\n';
        output_advance(output, n);
    }
    return CLI_OK;
}

/* ---- text ---------------------------------------------------------------------------------------------- */

/* Rows hold one count each up to 8 and then about ten a decade, so that a billion still fits on a screen. */
static uint64_t row_last(uint64_t first)
{
    return first < 8 ? first : first + first / 4 - (first < 12);
}

/* A bar of `part` of BAR_CELLS, by eighths of a cell where the locale has them. */
static void bar_draw(char *to, double part, int utf8)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    unsigned cells = (unsigned)lround(part * BAR_CELLS * 8);
    cells = cells ? cells : 1;
    *to = 0;
    for (unsigned i = 0; i < cells / 8; i++)
        strcat(to, utf8 ? "█" : "#");
    if (utf8)
        strcat(to, eighths[cells % 8]);
    else if (cells < 8)
        strcat(to, "#");
}

static int row_write(output *output, uint64_t first, uint64_t last, uint64_t number, double part,
                     fault *fault)
{
    char range[2 * TEXT_NUMBER_BYTES + 4], a[TEXT_NUMBER_BYTES], b[TEXT_NUMBER_BYTES], bar[4 * BAR_CELLS + 8];
    if (first == last)
        snprintf(range, sizeof range, "%s", text_grouped(a, first));
    else
        snprintf(range, sizeof range, "%s-%s", text_grouped(a, first), text_grouped(b, last));
    bar_draw(bar, part, text_is_utf8());
    return output_print(output, fault, "%15s %15s  %s\n", range, text_grouped(a, number), bar);
}

/* Sums the entries of the row that begins at `first`; *i moves past them. */
static uint64_t row_sum(const spectrum *spectrum, size_t *i, uint64_t last)
{
    uint64_t sum = 0;
    for (; *i < spectrum->n && spectrum->entries[*i].times <= last; (*i)++)
        sum += spectrum->entries[*i].number;
    return sum;
}

static int write_text(const spectrum *spectrum, output *output, fault *fault)
{
    spectrum_summary summary;
    char total[TEXT_NUMBER_BYTES], distinct[TEXT_NUMBER_BYTES];
    spectrum_summarise(spectrum, &summary);
    int status = output_print(output, fault, "%s: %s in all, %s distinct\n", spectrum->title,
                              text_grouped(total, summary.total), text_grouped(distinct, summary.distinct));
    if (!spectrum->n || status)
        return status;
    status =
        output_print(output, fault, "%15s %15s  (length of the bars: logarithm)\n", "times", spectrum->what);
    uint64_t most = 1;
    for (size_t i = 0; i < spectrum->n;) {
        uint64_t sum = 0;
        uint64_t first = 1;
        while (row_last(first) < spectrum->entries[i].times)
            first = row_last(first) + 1;
        sum = row_sum(spectrum, &i, row_last(first));
        most = sum > most ? sum : most;
    }
    uint64_t first = 1;
    for (size_t i = 0; i < spectrum->n && !status;) {
        while (row_last(first) < spectrum->entries[i].times)
            first = row_last(first) + 1;
        uint64_t sum = row_sum(spectrum, &i, row_last(first));
        double part = (log10((double)sum) + 0.15) / (log10((double)most) + 0.15);
        status = row_write(output, first, row_last(first), sum, part, fault);
    }
    if (summary.peak && !status)
        status = output_print(output, fault, "peak: %llu times\n", (unsigned long long)summary.peak);
    return status;
}

int spectrum_write(const spectrum *spectrum, spectrum_form form, output *output, fault *fault)
{
    if (form == SPECTRUM_TABLE)
        return write_table(spectrum, output, fault);
    if (form == SPECTRUM_TEXT)
        return write_text(spectrum, output, fault);
    return spectrum_svg_write(spectrum, output, fault);
}
