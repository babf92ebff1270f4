/* Replays recordings: every dot product by bitmma_dot, and on the diagonals of instructions by bitmma_multiply.
 *
 *     replay FILE.csv ...
 *
 * Prints how many agree; exit code 0: all, 1: some differ, 2: an error. The format is in recordings/README.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bitmma.h"

enum { MOST_UNITS = 512, MOST_K = 1024, MOST_LINES = 512, LINE = 1 << 16 };

struct known {
    char name[256];
    bitmma_unit *unit;
    bitmma_signature is;
};
static struct known known[MOST_UNITS];
static int units;

/* One line of a recording. */
struct record {
    uint64_t a[MOST_K], b[MOST_K], c, scale_a[MOST_K], scale_b[MOST_K], d;
    int nan;
};

static void fail(const char *file, int line, const char *what) {
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, bitmma_last_error());
    exit(2);
}

static struct known *find(const char *architecture, const char *instruction, const char *file, int line) {
    char name[256];
    snprintf(name, sizeof name, "%s/%s", architecture, instruction);
    for (int at = units - 1; at >= 0; at--)
        if (strcmp(known[at].name, name) == 0) return &known[at];
    if (units == MOST_UNITS) fail(file, line, "too many instructions");
    struct known *one = &known[units++];
    strcpy(one->name, name);
    if (bitmma_open(architecture, instruction, NULL, &one->unit) != BITMMA_OK) fail(file, line, name);
    if (bitmma_describe(one->unit, &one->is) != BITMMA_OK) fail(file, line, name);
    return one;
}

static void put(void *codes, size_t index, uint32_t bytes, uint64_t code) {
    memcpy((char *)codes + index * bytes, &code, bytes); /* little-endian */
}

static uint64_t get(const void *codes, size_t index, uint32_t bytes) {
    uint64_t code = 0;
    memcpy(&code, (const char *)codes + index * bytes, bytes);
    return code;
}

static size_t hex(const char *text, uint64_t *codes) {
    size_t count = 0;
    char *end;
    for (uint64_t code = strtoull(text, &end, 16); end != text; code = strtoull(text = end, &end, 16))
        if (count < MOST_K) codes[count++] = code;
    return count;
}

static int is_nan(const char *format, uint64_t code) {
    double value;
    if (bitmma_convert(format, &code, "f64", NULL, NULL, &value, 1) != BITMMA_OK) fail("", 0, "convert");
    return value != value;
}

static int agrees(const struct known *unit, const struct record *record, uint64_t d) {
    if (record->nan) return is_nan(unit->is.d.name, d);
    if (d == record->d) return 1;
    return unit->is.any_nan && is_nan(unit->is.d.name, d) && is_nan(unit->is.d.name, record->d);
}

static void complain(const char *how, const struct known *unit, const struct record *record, int line, uint64_t d) {
    printf("line %d, %s: %s answers %llx, recorded is %llx\n", line, how, unit->name, (unsigned long long)d,
           (unsigned long long)record->d);
}

static long by_dot(const struct known *unit, const struct record *record, int line) {
    const bitmma_signature *is = &unit->is;
    char a[8 * MOST_K], b[8 * MOST_K], c[8], scale_a[MOST_K], scale_b[MOST_K];
    size_t factors = is->scale_size ? is->k / is->scale_size : 0;
    for (size_t k = 0; k < is->k; k++) put(a, k, is->a.bytes, record->a[k]), put(b, k, is->b.bytes, record->b[k]);
    for (size_t k = 0; k < factors; k++) put(scale_a, k, 1, record->scale_a[k]), put(scale_b, k, 1, record->scale_b[k]);
    put(c, 0, is->c.bytes, record->c);
    bitmma_operands operands = {{a, is->k, 0, 0}, {b, is->k, 0, 0}, {c, 1, 0, 0}, {0}, {0}};
    if (factors) {
        operands.scale_a = (bitmma_input){scale_a, factors, 0, 0};
        operands.scale_b = (bitmma_input){scale_b, factors, 0, 0};
    }
    uint64_t d;
    if (bitmma_dot(unit->unit, &operands, &d) != BITMMA_OK) fail("", line, unit->name);
    if (agrees(unit, record, d)) return 0;
    complain("bitmma_dot", unit, record, line, d);
    return 1;
}

/* The lines on the diagonals of one instruction; every element of C is that of its row. */
static long by_multiply(const struct known *unit, const struct record *records, size_t lines, int line) {
    const bitmma_signature *is = &unit->is;
    size_t size = is->m < is->n ? is->m : is->n, factors = is->scale_size ? is->k / is->scale_size : 0;
    size_t rows = is->blocks * is->m, columns = is->blocks * is->n;
    char *a = malloc(8 * rows * is->k), *b = malloc(8 * columns * is->k), *c = malloc(8 * rows * is->n);
    char *d = malloc(8 * rows * is->n), *scale_a = malloc(rows * factors + 1), *scale_b = malloc(columns * factors + 1);
    for (size_t block = 0; block < is->blocks; block++) {
        for (size_t row = 0; row < is->m; row++) {
            size_t at = block * size + row;
            const struct record *record = &records[row < size && at < lines ? at : 0];
            size_t here = block * is->m + row;
            for (size_t k = 0; k < is->k; k++) put(a, here * is->k + k, is->a.bytes, record->a[k]);
            for (size_t k = 0; k < factors; k++) put(scale_a, here * factors + k, 1, record->scale_a[k]);
            for (size_t n = 0; n < is->n; n++) put(c, here * is->n + n, is->c.bytes, record->c);
        }
        for (size_t n = 0; n < is->n; n++) {
            size_t at = block * size + n;
            const struct record *record = &records[n < size && at < lines ? at : 0];
            for (size_t k = 0; k < is->k; k++) put(b, (block * is->k + k) * is->n + n, is->b.bytes, record->b[k]);
            for (size_t k = 0; k < factors; k++) put(scale_b, (block * factors + k) * is->n + n, 1, record->scale_b[k]);
        }
    }
    bitmma_operands operands = {
        {a, rows * is->k, 0, 0}, {b, columns * is->k, 0, 0}, {c, rows * is->n, 0, 0}, {0}, {0}};
    if (factors) {
        operands.scale_a = (bitmma_input){scale_a, rows * factors, 0, 0};
        operands.scale_b = (bitmma_input){scale_b, columns * factors, 0, 0};
    }
    bitmma_output out = {d, rows * is->n, 0, 0};
    if (bitmma_multiply(unit->unit, &operands, 1, &out) != BITMMA_OK) fail("", line, unit->name);
    long differ = 0;
    for (size_t at = 0; at < lines; at++) {
        size_t block = at / size, on = at % size;
        uint64_t code = get(d, (block * is->m + on) * is->n + on, is->d.bytes);
        if (agrees(unit, &records[at], code)) continue;
        complain("bitmma_multiply", unit, &records[at], line, code);
        differ++;
    }
    free(a), free(b), free(c), free(d), free(scale_a), free(scale_b);
    return differ;
}

int main(int count, char **files) {
    static char text[LINE];
    static struct record pending[MOST_LINES];
    long total = 0, differ = 0;
    for (int at = 1; at < count; at++) {
        FILE *file = fopen(files[at], "r");
        if (!file) return perror(files[at]), 2;
        struct known *last = NULL;
        size_t lines = 0;
        int line = 0;
        while (fgets(text, sizeof text, file)) {
            line++;
            if (text[0] == '#' || text[0] == '\n' || strncmp(text, "arch,", 5) == 0) continue;
            text[strcspn(text, "\r\n")] = 0;
            char *field[8], *next = text;
            for (int f = 0; f < 8; f++) {
                if (!next) fail(files[at], line, "eight fields were expected");
                field[f] = next;
                if ((next = strchr(next, ','))) *next++ = 0;
            }
            struct known *unit = find(field[0], field[1], files[at], line);
            size_t size = unit->is.m < unit->is.n ? unit->is.m : unit->is.n;
            size_t room = size * unit->is.blocks < MOST_LINES ? size * unit->is.blocks : MOST_LINES;
            if (last && (unit != last || lines == room)) differ += by_multiply(last, pending, lines, line), lines = 0;
            last = unit;
            struct record *record = &pending[lines++];
            memset(record, 0, sizeof *record);
            if (hex(field[2], record->a) != unit->is.k || hex(field[3], record->b) != unit->is.k)
                fail(files[at], line, "a and b have K codes");
            hex(field[4], &record->c);
            hex(field[5], record->scale_a), hex(field[6], record->scale_b);
            record->nan = strcmp(field[7], "nan") == 0;
            if (!record->nan) hex(field[7], &record->d);
            differ += by_dot(unit, record, line);
            total++;
        }
        if (last) differ += by_multiply(last, pending, lines, line);
        fclose(file);
    }
    for (int at = 0; at < units; at++) bitmma_close(known[at].unit);
    printf("%ld dot products, each alone and in an instruction: %ld differ\n", total, differ);
    return differ > 0;
}
