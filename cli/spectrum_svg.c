/* The spectrum as a drawing, both axes logarithmic.
 *
 * A bar for each count as long as these are apart on the paper; further right a bar stands for a range of
 * counts, and its height is the mean number of keys over that range, so that the outline does not jump where
 * bars begin to stand for more. There the single counts are dots above it. Colours follow the reader's light
 * or dark scheme. */
#include <math.h>
#include <string.h>

#include "spectrum.h"

#define WIDTH      760.0
#define HEIGHT     440.0
#define LEFT       76.0
#define RIGHT      736.0
#define TOP        74.0
#define BOTTOM     376.0
#define PER_DECADE 18.0 /* bars, where counts are close together */

typedef struct drawing {
    const spectrum *spectrum;
    output *output;
    fault *fault;
    double x_low, x_high, y_low, y_high; /* logarithms at the edges */
} drawing;

static const char style[] =
    "<style>\n"
    "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#1f2328}\n"
    ".ground{fill:#fff}.grid{stroke:#e4e8ec}.axis{stroke:#8a929b}.bar{fill:#2f6fde}.dot{fill:#173f86}\n"
    ".soft{fill:#59636e}.peak{stroke:#b8430f;stroke-dasharray:4 4}.mark{fill:#b8430f}\n"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.ground{fill:#0d1117}.grid{stroke:#262c36}\n"
    ".axis{stroke:#6e7681}.bar{fill:#4f93f0}.dot{fill:#c3dcff}.soft{fill:#9198a1}.peak{stroke:#ff9b5e}\n"
    ".mark{fill:#ff9b5e}}\n"
    "</style>\n";

static double x_of(const drawing *drawing, double times)
{
    double part = (log10(times) - drawing->x_low) / (drawing->x_high - drawing->x_low);
    return LEFT + part * (RIGHT - LEFT);
}

static double y_of(const drawing *drawing, double number)
{
    double part = (log10(number) - drawing->y_low) / (drawing->y_high - drawing->y_low);
    return BOTTOM - (part < 0 ? 0 : part) * (BOTTOM - TOP);
}

/* 1, 10, 100, 1 k, 10 k, ... */
static const char *power_label(char to[16], int power)
{
    static const char *const units[] = {"", " k", " M", " G", " T", " P", " E"};
    snprintf(to, 16, "%s%s", power % 3 == 0 ? "1" : power % 3 == 1 ? "10" : "100", units[power / 3 % 7]);
    return to;
}

static int x_axis(const drawing *drawing)
{
    int wide = drawing->x_high - drawing->x_low > 3.2; /* too many decades to label 2 and 5 */
    for (int power = 0; power <= (int)drawing->x_high; power++) {
        for (int digit = 1; digit < 10; digit++) {
            double times = digit * pow(10, power), x = x_of(drawing, times);
            int label = digit == 1 || (!wide && (digit == 2 || digit == 5));
            char text[16];
            if (log10(times) > drawing->x_high)
                break;
            if (output_print(drawing->output, drawing->fault,
                             "<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x,
                             BOTTOM, x, BOTTOM + (label ? 6 : 3)))
                return drawing->fault->status;
            if (!label)
                continue;
            power_label(text, power);
            if (digit > 1)
                text[0] = (char)('0' + digit);
            if (output_print(
                    drawing->output, drawing->fault,
                    "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\" font-size=\"12\" text-anchor=\"middle\">%s"
                    "</text>\n",
                    x, BOTTOM + 21, text))
                return drawing->fault->status;
        }
    }
    return output_print(
        drawing->output, drawing->fault,
        "<text x=\"%.1f\" y=\"%.1f\" font-size=\"13\" text-anchor=\"middle\">times that a %s occurs"
        "</text>\n",
        (LEFT + RIGHT) / 2, BOTTOM + 46, strcmp(drawing->spectrum->what, "numbers") ? "k-mer" : "number");
}

static int y_axis(const drawing *drawing)
{
    for (int power = 0; power <= (int)drawing->y_high; power++) {
        char text[16];
        double y = y_of(drawing, pow(10, power));
        if (output_print(
                drawing->output, drawing->fault,
                "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n"
                "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\" font-size=\"12\" text-anchor=\"end\">%s</text>\n",
                LEFT, y, RIGHT, y, LEFT - 8, y + 4, power_label(text, power)))
            return drawing->fault->status;
    }
    return output_print(drawing->output, drawing->fault,
                        "<text x=\"20\" y=\"%.1f\" font-size=\"13\" text-anchor=\"middle\" "
                        "transform=\"rotate(-90 20 %.1f)\">distinct %s</text>\n",
                        (TOP + BOTTOM) / 2, (TOP + BOTTOM) / 2, drawing->spectrum->what);
}

/* The bar that begins at `first` ends here. */
static uint64_t bar_last(uint64_t first)
{
    double next = floor((double)first * pow(10, 1 / PER_DECADE));
    return next > (double)first ? (uint64_t)next - 1 : first;
}

static int bar_write(const drawing *drawing, uint64_t first, uint64_t last, uint64_t number)
{
    char a[TEXT_NUMBER_BYTES], b[TEXT_NUMBER_BYTES], c[TEXT_NUMBER_BYTES], range[2 * TEXT_NUMBER_BYTES + 4];
    double left = x_of(drawing, first > 1 ? (double)first - 0.5 : 0.7),
           right = x_of(drawing, (double)last + 0.5);
    double y = y_of(drawing, (double)number / (double)(last - first + 1));
    double gap = right - left > 4 ? 1 : 0.4;
    if (first == last)
        snprintf(range, sizeof range, "%s", text_grouped(a, first));
    else
        snprintf(range, sizeof range, "%s to %s", text_grouped(a, first), text_grouped(b, last));
    return output_print(
        drawing->output, drawing->fault,
        "<rect class=\"bar\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>%s times: %s %s"
        "</title></rect>\n",
        left, y, right - left - gap, BOTTOM - y, range, text_grouped(c, number), drawing->spectrum->what);
}

static int bars(const drawing *drawing)
{
    const spectrum *spectrum = drawing->spectrum;
    uint64_t first = 1;
    for (size_t i = 0; i < spectrum->n;) {
        while (bar_last(first) < spectrum->entries[i].times)
            first = bar_last(first) + 1;
        uint64_t last = bar_last(first), sum = 0;
        for (; i < spectrum->n && spectrum->entries[i].times <= last; i++)
            sum += spectrum->entries[i].number;
        if (bar_write(drawing, first, last, sum))
            return drawing->fault->status;
    }
    return CLI_OK;
}

/* Single counts where bars are ranges. Dots that fall on one another are drawn once. */
static int dots(const drawing *drawing)
{
    static unsigned char drawn[(int)WIDTH + 1][(int)HEIGHT + 1];
    const spectrum *spectrum = drawing->spectrum;
    memset(drawn, 0, sizeof drawn);
    for (size_t i = 0; i < spectrum->n; i++) {
        uint64_t times = spectrum->entries[i].times;
        if (bar_last(times) == times)
            continue;
        double x = x_of(drawing, (double)times), y = y_of(drawing, (double)spectrum->entries[i].number);
        if (drawn[(int)x][(int)y]++)
            continue;
        if (output_print(drawing->output, drawing->fault,
                         "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"1.4\"/>\n", x, y))
            return drawing->fault->status;
    }
    return CLI_OK;
}

static int peak(const drawing *drawing, const spectrum_summary *summary)
{
    if (!summary->peak)
        return CLI_OK;
    double x = x_of(drawing, (double)summary->peak);
    int left = x > (LEFT + 2 * RIGHT) / 3;
    return output_print(
        drawing->output, drawing->fault,
        "<line class=\"peak\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n"
        "<text class=\"mark\" x=\"%.1f\" y=\"%.1f\" font-size=\"13\" text-anchor=\"%s\">peak: %llu times"
        "</text>\n",
        x, TOP, x, BOTTOM, left ? x - 7 : x + 7, TOP + 12, left ? "end" : "start",
        (unsigned long long)summary->peak);
}

static int head(const drawing *drawing, const spectrum_summary *summary)
{
    char total[TEXT_NUMBER_BYTES], distinct[TEXT_NUMBER_BYTES], once[TEXT_NUMBER_BYTES],
        most[TEXT_NUMBER_BYTES];
    const char *title = drawing->spectrum->title;
    int status =
        output_print(drawing->output, drawing->fault,
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
                     "height=\"%.0f\" role=\"img\" aria-label=\"How many %s occur how often\">\n"
                     "<title>How many %s occur how often</title>\n%s"
                     "<rect class=\"ground\" width=\"%.0f\" height=\"%.0f\" rx=\"6\"/>\n",
                     WIDTH, HEIGHT, WIDTH, HEIGHT, title, title, style, WIDTH, HEIGHT);
    if (status)
        return status;
    return output_print(
        drawing->output, drawing->fault,
        "<text x=\"%.0f\" y=\"30\" font-size=\"17\" font-weight=\"600\">How many %s occur how often</text>\n"
        "<text class=\"soft\" x=\"%.0f\" y=\"51\" font-size=\"13\">%s in all, %s distinct, %s of these once, "
        "the most frequent %s times</text>\n",
        LEFT, title, LEFT, text_grouped(total, summary->total), text_grouped(distinct, summary->distinct),
        text_grouped(once, summary->once), text_grouped(most, summary->most));
}

int spectrum_svg_write(const spectrum *spectrum, output *output, fault *fault)
{
    spectrum_summary summary;
    spectrum_summarise(spectrum, &summary);
    uint64_t most = 1;
    for (size_t i = 0; i < spectrum->n; i++)
        most = spectrum->entries[i].number > most ? spectrum->entries[i].number : most;
    drawing drawing = {spectrum, output, fault, log10(0.7), 0, log10(0.6), 0};
    drawing.x_high = log10(summary.most > 9 ? (double)summary.most * 1.15 : 10.5);
    drawing.y_high = log10(most > 9 ? (double)most * 1.5 : 10.5);
    int status = head(&drawing, &summary);
    if (!status)
        status = y_axis(&drawing);
    if (!status)
        status = bars(&drawing);
    if (!status)
        status = dots(&drawing);
    if (!status)
        status = peak(&drawing, &summary);
    if (!status)
        status = x_axis(&drawing);
    if (!status)
        status = output_print(
            output, fault, "<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n</svg>\n",
            LEFT, BOTTOM, RIGHT, BOTTOM);
    return status;
}
