/* Random calls, most of them wrong: sizes, strides, formats, codes, names, NULL, K of zero.
 *
 *     fuzz [CALLS [SEED]]
 *
 * Each must end in an error that leaves its output as it was, or in the right answer: an element of a product is held
 * against bitmma_dot. Buffers are as long as they say, so that a sanitizer or Valgrind sees what reads or writes beyond. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bitmma.h"

static uint64_t state;

static uint64_t draw(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state * 2685821657736338717u;
}
static size_t below(size_t bound) { return (size_t)(draw() >> 33) % bound; }
static int seldom(int often) { return below(often) == 0; }

static void wrong(const char *what, long call) {
    printf("call %ld: %s (%s)\n", call, what, bitmma_last_error());
    exit(1);
}

static const char *NAMES[][2] = {
    {"h100", "mma.m16n8k16.f32.f16.f16.f32"},
    {"ada", "mma.m16n8k32.f32.e4m3.e5m2.f32"},
    {"rtx-blackwell", "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3"},
    {"mi250x", "v_mfma_f32_4x4x4f16"}, /* 16 blocks */
    {"mi300x", "v_mfma_f64_16x16x4_f64"},
    {"cpu", "vdpbf16ps"},
};
enum { UNITS = sizeof NAMES / sizeof *NAMES, MATRICES = 5 };
static bitmma_unit *units[UNITS];
static bitmma_signature is[UNITS];
static const size_t ODD[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 64, 255, (size_t)1 << 32, (size_t)-1, (size_t)-1 / 2, (size_t)1 << 62};

static size_t odd(void) { return ODD[below(sizeof ODD / sizeof *ODD)]; }

/* A matrix in memory of its own, right or nearly. */
struct made {
    bitmma_input input;
    size_t leading, stride;
    unsigned char *memory;
    int damaged;
};

static struct made make(size_t blocks, size_t rows, size_t columns, const bitmma_format *format, int damage) {
    struct made made = {{0}, columns, 0, NULL, 0};
    if (seldom(3)) made.leading += below(5);
    made.stride = rows * made.leading + (seldom(3) ? below(7) : 0);
    const size_t bytes = format->bytes ? format->bytes : 1;
    size_t count = blocks && rows && columns ? (blocks - 1) * made.stride + (rows - 1) * made.leading + columns : 0;
    const size_t skew = below(2); /* an odd address */
    made.memory = malloc(count * bytes + skew + 1);
    made.input = (bitmma_input){made.memory + skew, count, made.leading, made.stride};
    const uint64_t mask = format->bits == 64 ? ~0ull : (1ull << format->bits) - 1;
    for (size_t at = 0; at < count; at++) {
        uint64_t code = draw() & mask;
        if (!seldom(4)) code &= ~(1ull << (format->bits > 1 ? format->bits - 2 : 0)); /* of moderate size */
        memcpy(made.memory + skew + at * bytes, &code, bytes);
    }
    if (!damage || count == 0) return made;
    made.damaged = 1;
    switch (below(6)) {
    case 0: made.input.codes = NULL; break;
    case 1: made.input.count = below(count); break;
    case 2: made.input.leading = odd(); break;
    case 3: made.input.stride = odd(); break;
    case 4: made.input = (bitmma_input){0}; break;
    default: memset(made.memory + skew, 0xff, bytes); /* a code that a narrow format does not have */
    }
    return made;
}

/* What lies in a matrix that bitmma_dot can take. */
static bitmma_input part(const struct made *made, size_t bytes, size_t block, size_t row, size_t column, size_t rows,
                         size_t columns) {
    const size_t at = block * made->stride + row * made->leading + column;
    const size_t count = rows && columns ? (rows - 1) * made->leading + columns : 0;
    return (bitmma_input){(const char *)made->input.codes + at * bytes, count, made->leading, 0};
}

static uint64_t code_at(const void *codes, size_t index, size_t bytes) {
    uint64_t code = 0;
    memcpy(&code, (const char *)codes + index * bytes, bytes);
    return code;
}

/* One instruction or several, or a product of any shape. */
static int product(long call) {
    const size_t at = below(UNITS);
    const bitmma_signature *own = &is[at];
    const int gemm = seldom(2);
    const size_t count = seldom(4) ? below(3) : 1, blocks = gemm ? 1 : count * own->blocks;
    const size_t m = gemm ? below(6) : own->m, n = gemm ? below(6) : own->n;
    const size_t k = gemm ? below(3) * own->k + (seldom(2) ? below(own->k) : 0) : own->k;
    const size_t along = own->scale_size ? (k + own->scale_size - 1) / own->scale_size : 0;
    struct made made[MATRICES] = {
        make(blocks, m, k, &own->a, seldom(12)), make(blocks, k, n, &own->b, seldom(12)),
        make(blocks, m, n, &own->c, seldom(12)), make(blocks, m, along, &own->scale, along && seldom(12)),
        make(blocks, along, n, &own->scale, along && seldom(12))};
    bitmma_operands operands = {made[0].input, made[1].input, made[2].input, {0}, {0}};
    if (own->scale_size) operands.scale_a = made[3].input, operands.scale_b = made[4].input;
    else if (seldom(30)) operands.scale_a = made[0].input;
    struct made d = make(blocks, m, n, &own->d, seldom(12)); /* its codes are the filling */
    const bitmma_output out = {(void *)d.input.codes, d.input.count, d.input.leading, d.input.stride};
    const size_t bytes = own->d.bytes, length = d.input.codes && d.memory ? (d.input.count ? d.input.count * bytes : 0) : 0;
    unsigned char *before = malloc(length + 1);
    if (length) memcpy(before, d.input.codes, length);
    bitmma_gemm_options options = {0};
    const int optional = gemm && seldom(3);
    if (optional) options.split_k = below(4), options.promote_every = own->k * below(3), options.threads = 1;
    const size_t other = seldom(50) ? odd() : gemm ? k : count; /* another K, or another count */
    const bitmma_status status =
        gemm ? bitmma_gemm(seldom(200) ? NULL : units[at], m, n, other, &operands, optional ? &options : NULL, &out)
             : bitmma_multiply(units[at], seldom(200) ? NULL : &operands, other, &out);
    int right = status == BITMMA_OK;
    if (status == BITMMA_INTERNAL) wrong("a bug", call);
    if (!right) {
        if (!bitmma_last_error()[0]) wrong("an error without a text", call);
        if (length && memcmp(before, d.input.codes, length)) wrong("an error, and D has changed", call);
    }
    int damaged = d.damaged || other != (gemm ? k : count);
    for (int one = 0; one < MATRICES; one++) damaged |= made[one].damaged;
    if (right && !damaged && !gemm && blocks) {
        const size_t block = below(blocks), i = below(m), j = below(n);
        bitmma_operands dot = {part(&made[0], own->a.bytes, block, i, 0, 1, k), part(&made[1], own->b.bytes, block, 0, j, k, 1),
                               part(&made[2], own->c.bytes, block, i, j, 1, 1), {0}, {0}};
        if (own->scale_size) {
            dot.scale_a = part(&made[3], 1, block, i, 0, 1, along);
            dot.scale_b = part(&made[4], 1, block, 0, j, along, 1);
        }
        uint64_t expected;
        if (bitmma_dot(units[at], &dot, &expected) != BITMMA_OK) wrong("bitmma_dot refuses what bitmma_multiply takes", call);
        if (code_at(d.input.codes, block * d.stride + i * d.leading + j, bytes) != expected) wrong("another answer", call);
        /* what lies behind each row is as it was */
        if (d.leading > n)
            for (size_t row = 0; row + 1 < m; row++) {
                const size_t gap = (block * d.stride + row * d.leading + n) * bytes;
                if (memcmp(before + gap, (const char *)d.input.codes + gap, (d.leading - n) * bytes)) wrong("a gap", call);
            }
    }
    /* a product of whole instructions is a chain of dot products */
    if (right && !damaged && gemm && !optional && m && n && k && k % own->k == 0 && own->c.bits == own->d.bits) {
        const size_t i = below(m), j = below(n);
        uint64_t sum = code_at(made[2].input.codes, i * made[2].leading + j, own->c.bytes);
        const size_t step = own->scale_size ? own->k / own->scale_size : 0;
        for (size_t from = 0; from < k; from += own->k) {
            bitmma_operands dot = {part(&made[0], own->a.bytes, 0, i, from, 1, own->k),
                                   part(&made[1], own->b.bytes, 0, from, j, own->k, 1), {&sum, 1, 0, 0}, {0}, {0}};
            if (step) {
                dot.scale_a = part(&made[3], 1, 0, i, from / own->scale_size, 1, step);
                dot.scale_b = part(&made[4], 1, 0, from / own->scale_size, j, step, 1);
            }
            if (bitmma_dot(units[at], &dot, &sum) != BITMMA_OK) wrong("bitmma_dot refuses what bitmma_gemm takes", call);
        }
        if (code_at(d.input.codes, i * d.leading + j, bytes) != sum) wrong("another product", call);
    }
    for (int one = 0; one < MATRICES; one++) free(made[one].memory);
    free(d.memory), free(before);
    return right;
}

/* Names, most of them wrong. */
static int opening(void) {
    static const char *WORDS[] = {"h100", "sm_90", "", "mma.m16n8k16.f32.f16.f16.f32", "mma", "wgmma.m64n8k16.f32.f16.f16",
                                  "\xc3\x28", "cpu", "hardware", "paper", "model = \"FMA\"\nA = \"f32\"\nB = \"f32\"\nC = \"f32\"\nrho = \"RNE-FP32\"\n"};
    const size_t words = sizeof WORDS / sizeof *WORDS;
    bitmma_unit *unit = NULL;
    const bitmma_status status =
        seldom(2) ? bitmma_open(seldom(9) ? NULL : WORDS[below(words)], seldom(9) ? NULL : WORDS[below(words)],
                                seldom(2) ? NULL : WORDS[below(words)], seldom(20) ? NULL : &unit)
                  : bitmma_open_model(seldom(9) ? NULL : WORDS[seldom(2) ? 10 : below(words)], below(40), below(40),
                                      seldom(9) ? odd() : below(40), seldom(20) ? NULL : &unit);
    if ((status == BITMMA_OK) != (unit != NULL)) wrong("a unit and an error, or neither", 0);
    bitmma_close(unit);
    return status == BITMMA_OK;
}

/* Through FP64 and back a code is the same number. */
static int converting(long call) {
    static const char *FORMATS[] = {"f64", "f32", "tf32", "bf16", "f16", "e5m2", "e4m3", "e3m2", "e2m1", "ue8m0", "f8", NULL};
    static const char *ROUNDINGS[] = {NULL, "RZ", "RU", "RNA", "RO", "none"};
    const char *from = FORMATS[below(12)], *to = FORMATS[below(12)], *rounding = ROUNDINGS[below(6)];
    bitmma_format source = {{0}, 8, 8}, target = {{0}, 8, 8};
    const int known = bitmma_find_format(from, &source) == BITMMA_OK && bitmma_find_format(to, &target) == BITMMA_OK;
    struct made codes = make(1, 1, below(9), &source, 0);
    const size_t count = codes.input.count;
    unsigned char *out = malloc(count * target.bytes + 1), *back = malloc(count * source.bytes + 1);
    const bitmma_status status = bitmma_convert(from, codes.input.codes, to, rounding, seldom(5) ? "wrap" : NULL,
                                                seldom(20) ? NULL : out, seldom(50) && !known ? odd() : count);
    if (status == BITMMA_OK && !known) wrong("an unknown format was taken", call);
    if (status == BITMMA_OK && target.bits == 64) {
        if (bitmma_convert(to, out, from, NULL, NULL, back, count) != BITMMA_OK) wrong("there and not back", call);
        for (size_t at = 0; at < count; at++) {
            double there, again;
            uint64_t code = code_at(back, at, source.bytes);
            memcpy(&there, out + 8 * at, 8);
            if (bitmma_convert(from, &code, "f64", NULL, NULL, &again, 1) != BITMMA_OK) wrong("not back", call);
            if (there != again && (there == there || again == again)) wrong("there and back another number", call);
        }
    }
    free(codes.memory), free(out), free(back);
    return status == BITMMA_OK;
}

int main(int count, char **words) {
    const long calls = count > 1 ? atol(words[1]) : 1000000;
    state = count > 2 ? strtoull(words[2], NULL, 10) * 2 + 1 : 1;
    for (int at = 0; at < UNITS; at++) {
        if (bitmma_open(NAMES[at][0], NAMES[at][1], NULL, &units[at]) != BITMMA_OK) wrong(NAMES[at][1], 0);
        if (bitmma_describe(units[at], &is[at]) != BITMMA_OK) wrong(NAMES[at][1], 0);
    }
    long right = 0;
    for (long call = 1; call <= calls; call++)
        switch (below(16)) {
        case 0: right += opening(); break;
        case 1: case 2: case 3: case 4: case 5: case 6: right += converting(call); break;
        default: right += product(call);
        }
    for (int at = 0; at < UNITS; at++) bitmma_close(units[at]);
    printf("%ld calls: %ld right answers, %ld errors\n", calls, right, calls - right);
    return 0;
}
