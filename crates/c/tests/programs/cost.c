/* What a call costs: one instruction of 16×8×16, one dot product of 16, medians of 21 runs.
 *
 *     cost [CALLS]
 *
 * Prints nanoseconds of processor time a call. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bitmma.h"

enum { RUNS = 21 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e9 * time.tv_sec + time.tv_nsec;
}

static int by_size(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

int main(int count, char **words) {
    long calls = count > 1 ? atol(words[1]) : 20000;
    bitmma_unit *unit;
    if (bitmma_open("h100", "mma.m16n8k16.f32.f16.f16.f32", NULL, &unit) != BITMMA_OK) return 2;
    static uint16_t a[256], b[128];
    static float c[128], d[128];
    uint32_t seed = 1;
    for (int i = 0; i < 256; i++) a[i] = 0x3800 + ((seed = seed * 1664525 + 1013904223) >> 20);
    for (int i = 0; i < 128; i++) b[i] = 0x3800 + ((seed = seed * 1664525 + 1013904223) >> 20), c[i] = 1;
    bitmma_operands operands = {{a, 256, 0, 0}, {b, 128, 0, 0}, {c, 128, 0, 0}, {0}, {0}};
    bitmma_operands column = {{a, 16, 0, 0}, {b, 128, 8, 0}, {c, 1, 0, 0}, {0}, {0}};
    bitmma_output out = {d, 128, 0, 0};
    double instructions[RUNS], dots[RUNS];
    for (int run = 0; run < RUNS; run++) {
        double start = now();
        for (long at = 0; at < calls; at++)
            if (bitmma_multiply(unit, &operands, 1, &out) != BITMMA_OK) return 2;
        instructions[run] = (now() - start) / calls;
        start = now();
        uint64_t code;
        for (long at = 0; at < calls; at++)
            if (bitmma_dot(unit, &column, &code) != BITMMA_OK) return 2;
        dots[run] = (now() - start) / calls;
    }
    qsort(instructions, RUNS, sizeof *instructions, by_size);
    qsort(dots, RUNS, sizeof *dots, by_size);
    printf("one instruction of 16x8x16: %.0f ns; one dot product of 16: %.0f ns\n", instructions[RUNS / 2], dots[RUNS / 2]);
    bitmma_close(unit);
    return 0;
}
