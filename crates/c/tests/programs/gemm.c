/* Matrix products of every kind, for a comparison with `bitmma gemm`.
 *
 *     gemm FOLDER
 *
 * Where one product is made, a B that was prepared gives the same. Writes a0.npy, b0.npy, … and D as d0.npy into FOLDER, and prints the arguments of the command that computes the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bitmma.h"

struct job {
    const char *architecture, *instruction;
    size_t products, m, n, k;
    const char *type, *accumulator, *result; /* of A and B, C, D, as NumPy writes them */
    uint64_t mask;                           /* bits of codes of A and B that are drawn */
    size_t split_k, promote_every;
    const double *alpha, *beta;
    const char *scale_blocks, *output, *rounding, *overflow, *words; /* the last: the same as options */
};

static const double HALF = 0.5, MINUS_TWO = -2, NOTHING = 0;
static const struct job JOBS[] = {
    {"h100", "wgmma.m64nNk16.f32.f16.f16", 1, 37, 29, 100, "<f2", "<f4", "<f4", 0xb3ff, 0, 0, 0, 0, 0, 0, 0, 0, ""},
    {"h100", "wgmma.m64nNk16.f32.f16.f16", 3, 9, 11, 200, "<f2", "<f4", "<f4", 0xb3ff, 3, 32, &HALF, &MINUS_TWO, 0, 0, 0, 0,
     "--split-k 3 --promote-every 32 --alpha 0.5 --beta -2"},
    {"a100", "mma.m16n8k16.f32.f16.f16.f32", 1, 33, 8, 64, "<f2", "<f4", "<f2", 0xd7ff, 0, 0, 0, &NOTHING, 0, "f16", "RZ",
     "saturate", "--output-type f16 --output-rounding RZ --saturate --beta 0"},
    {"h100", "wgmma.m64nNk32.f32.e4m3.e4m3", 1, 20, 150, 300, "|u1", "<f4", "<f4", 0xbf, 0, 0, 0, 0, "1x128,128x128", 0, 0, 0,
     "--scale-blocks 1x128,128x128"},
    {"mi300x", "v_mfma_f32_32x32x8_f16", 1, 40, 40, 72, "<f2", "<f4", "<f4", 0xb7ff, 0, 0, 0, 0, 0, 0, 0, 0, ""},
    {"mi300x", "v_mfma_f64_16x16x4_f64", 1, 17, 5, 30, "<f8", "<f8", "<f8", 0xbfefffffffffffff, 2, 0, &HALF, 0, 0, 0, 0, 0,
     "--split-k 2 --alpha 0.5"},
    {"mi100", "v_mfma_f32_32x32x4bf16", 1, 12, 34, 40, "<u2", "<f4", "<f4", 0xbfff, 0, 0, 0, 0, 0, 0, 0, 0, ""},
};

static uint64_t seed = 12345;

static uint64_t draw(void) {
    uint64_t bits = 0;
    for (int part = 0; part < 4; part++) bits = bits << 16 | ((seed = seed * 6364136223846793005u + 1442695040888963407u) >> 48);
    return bits;
}

static void write_npy(const char *folder, const char *name, int at, const char *type, size_t products, size_t rows,
                      size_t columns, const void *codes) {
    char path[4096], head[129] = {0};
    snprintf(path, sizeof path, "%s/%s%d.npy", folder, name, at);
    memcpy(head, "\x93NUMPY\x01\x00\x76\x00", 10);
    int length = 10 + (products == 1 ? snprintf(head + 10, 118, "{'descr': '%s', 'fortran_order': False, 'shape': (%zu, %zu), }",
                                                type, rows, columns)
                                     : snprintf(head + 10, 118,
                                                "{'descr': '%s', 'fortran_order': False, 'shape': (%zu, %zu, %zu), }", type,
                                                products, rows, columns));
    memset(head + length, ' ', 127 - length);
    head[127] = '\n';
    FILE *file = fopen(path, "wb");
    const size_t bytes = type[2] - '0', count = products * rows * columns;
    if (!file || fwrite(head, 128, 1, file) != 1 || fwrite(codes, bytes, count, file) != count || fclose(file)) exit(2);
}

/* Whether a B that is prepared, from any memory and on one thread, gives the same D. */
static int same_prepared(const bitmma_unit *unit, const struct job *job, const bitmma_operands *operands,
                         const bitmma_gemm_options *options, const char *d) {
    const size_t of_b = job->k * job->n, of_d = job->m * job->n, bytes = job->type[2] - '0', wide = job->result[2] - '0';
    char *b = malloc(bytes * of_b), *other = malloc(8 * of_d);
    memcpy(b, operands->b.codes, bytes * of_b);
    const bitmma_input input = {b, of_b, 0, 0};
    bitmma_prepared *prepared = NULL;
    int same = bitmma_prepare(unit, job->n, job->k, &input, NULL, 1, &prepared) == BITMMA_OK;
    memset(b, 0xff, bytes * of_b); /* it is a copy */
    bitmma_operands others = *operands;
    others.b = (bitmma_input){0};
    const bitmma_output out = {other, of_d, 0, 0};
    for (int turn = 0; same && turn < 2; turn++)
        same = bitmma_multiply_prepared(prepared, job->m, &others, options, &out) == BITMMA_OK && !memcmp(d, other, wide * of_d);
    bitmma_free_prepared(prepared);
    free(b), free(other);
    return same;
}

int main(int count, char **words) {
    if (count != 2) return fprintf(stderr, "usage: gemm FOLDER\n"), 2;
    for (int at = 0; at < (int)(sizeof JOBS / sizeof *JOBS); at++) {
        const struct job *job = &JOBS[at];
        const size_t of_a = job->products * job->m * job->k, of_b = job->products * job->k * job->n;
        const size_t of_d = job->products * job->m * job->n, rows = job->m, along = (job->k + 127) / 128;
        const size_t columns = (job->n + 127) / 128;
        char *a = malloc(8 * of_a), *b = malloc(8 * of_b), *c = malloc(8 * of_d), *d = malloc(8 * of_d);
        float *scale_a = malloc(4 * rows * along), *scale_b = malloc(4 * along * columns);
        const size_t bytes = job->type[2] - '0', wide = job->accumulator[2] - '0';
        for (size_t i = 0; i < of_a; i++) { uint64_t code = draw() & job->mask; memcpy(a + i * bytes, &code, bytes); }
        for (size_t i = 0; i < of_b; i++) { uint64_t code = draw() & job->mask; memcpy(b + i * bytes, &code, bytes); }
        for (size_t i = 0; i < of_d; i++) {
            uint64_t code = wide == 4 ? draw() & 0xbfffffff : draw() & 0xbfffffffffffffff;
            memcpy(c + i * wide, &code, wide);
        }
        for (size_t i = 0; i < rows * along; i++) scale_a[i] = (float)(draw() % 1000) / 300;
        for (size_t i = 0; i < along * columns; i++) scale_b[i] = (float)(draw() % 1000) / 700;
        bitmma_unit *unit;
        if (bitmma_open(job->architecture, job->instruction, NULL, &unit) != BITMMA_OK) return puts(bitmma_last_error()), 2;
        bitmma_operands operands = {{a, of_a, 0, 0}, {b, of_b, 0, 0}, {c, of_d, 0, 0}, {0}, {0}};
        if (job->scale_blocks) {
            operands.scale_a = (bitmma_input){scale_a, rows * along, 0, 0};
            operands.scale_b = (bitmma_input){scale_b, along * columns, 0, 0};
        }
        const bitmma_gemm_options options = {job->products, job->split_k, job->promote_every, 0, job->alpha, job->beta,
                                             job->scale_blocks, job->output, job->rounding, job->overflow, NULL};
        const bitmma_output out = {d, of_d, 0, 0};
        if (bitmma_gemm(unit, job->m, job->n, job->k, &operands, &options, &out) != BITMMA_OK) return puts(bitmma_last_error()), 2;
        if (job->products == 1 && !same_prepared(unit, job, &operands, &options, d)) return puts(bitmma_last_error()), 3;
        write_npy(words[1], "a", at, job->type, job->products, job->m, job->k, a);
        write_npy(words[1], "b", at, job->type, job->products, job->k, job->n, b);
        write_npy(words[1], "c", at, job->accumulator, job->products, job->m, job->n, c);
        write_npy(words[1], "d", at, job->result, job->products, job->m, job->n, d);
        printf("%s %s -a a%d.npy -b b%d.npy -c c%d.npy %s", job->architecture, job->instruction, at, at, at, job->words);
        if (job->scale_blocks) {
            write_npy(words[1], "x", at, "<f4", 1, rows, along, scale_a);
            write_npy(words[1], "y", at, "<f4", 1, along, columns, scale_b);
            printf(" --scale-a x%d.npy --scale-b y%d.npy", at, at);
        }
        printf("\n");
        bitmma_close(unit);
        free(a), free(b), free(c), free(d), free(scale_a), free(scale_b);
    }
    return 0;
}
