/* Every function: a right answer, and each error that it has. Prints how many checks passed; exit code 1 if one failed. */
#include <math.h>
#include <stdlib.h>

#include "checks.h"

static const char *TOML =
    "model = \"T-FDPA\"\nA = \"f16\"\nB = \"f16\"\nC = \"f32\"\nD = \"f32\"\nL_max = 4\nF = 24\nrho = \"RZ-FP32\"\nterm_rounding = \"RZ\"\ne_zero = -133\n";

static uint16_t a[16 * 16], b[16 * 8];
static uint32_t c[16 * 8], d[16 * 8];

static bitmma_operands whole(void) {
    return (bitmma_operands){{a, 256, 0, 0}, {b, 128, 0, 0}, {c, 128, 0, 0}, {0}, {0}};
}

static void opening(void) {
    bitmma_unit *unit = NULL;
    CHECK(strlen(bitmma_version()) >= 5);
    CHECK(bitmma_open("sm_90a", "HMMA.16816.F32", "paper", &unit) == BITMMA_OK);
    bitmma_close(unit);
    bitmma_close(NULL);
    CHECK(bitmma_open("cpu", "vdpbf16ps", NULL, &unit) == BITMMA_OK);
    bitmma_close(unit);
    FAILS(bitmma_open("hoper", "HMMA.16816.F32", NULL, &unit), BITMMA_UNKNOWN, "hopper");
    FAILS(bitmma_open("hopper", "nothing", NULL, &unit), BITMMA_UNKNOWN, "nothing");
    FAILS(bitmma_open("hopper", "HMMA.16816.F32", "new", &unit), BITMMA_UNKNOWN, "new");
    FAILS(bitmma_open("hopper", "\xff", NULL, &unit), BITMMA_UNKNOWN, "UTF-8");
    FAILS(bitmma_open(NULL, "HMMA.16816.F32", NULL, &unit), BITMMA_NULL, "architecture");
    FAILS(bitmma_open("hopper", NULL, NULL, &unit), BITMMA_NULL, "instruction");
    FAILS(bitmma_open("hopper", "HMMA.16816.F32", NULL, NULL), BITMMA_NULL, "unit");
    FAILS(bitmma_open("ampere", "mma.sp.m16n8k32.f32.f16.f16.f32", NULL, &unit), BITMMA_NO_MODEL, "no model");
    CHECK(bitmma_open_model(TOML, 2, 3, 8, &unit) == BITMMA_OK);
    bitmma_signature is;
    CHECK(bitmma_describe(unit, &is) == BITMMA_OK);
    CHECK(is.m == 2 && is.n == 3 && is.k == 8 && is.blocks == 1 && is.scale_size == 0);
    CHECK(strcmp(is.a.name, "f16") == 0 && is.a.bits == 16 && is.a.bytes == 2);
    CHECK(is.scale.name[0] == 0 && is.scale.bytes == 0 && strcmp(is.working.name, "f32") == 0);
    CHECK(strcmp(is.name, "model") == 0);
    FAILS(bitmma_describe(NULL, &is), BITMMA_NULL, "unit");
    FAILS(bitmma_describe(unit, NULL), BITMMA_NULL, "signature");
    bitmma_close(unit);
    FAILS(bitmma_open_model("model = 3", 2, 3, 8, &unit), BITMMA_MODEL, "");
    FAILS(bitmma_open_model(TOML, 2, 3, 7, &unit), BITMMA_MODEL, "7");
    FAILS(bitmma_open_model(TOML, 0, 3, 8, &unit), BITMMA_SIZE, "m is 0; 1 to 65536 is allowed");
    FAILS(bitmma_open_model(TOML, 2, 65537, 8, &unit), BITMMA_SIZE, "n is 65537; 1 to 65536");
    FAILS(bitmma_open_model(TOML, 2, 3, 0, &unit), BITMMA_SIZE, "k is 0; 1 to 65536");
    FAILS(bitmma_open_model(TOML, 2, 3, (size_t)-1, &unit), BITMMA_SIZE, "k is 18446744073709551615; 1 to 65536");
    FAILS(bitmma_open_model(NULL, 2, 3, 8, &unit), BITMMA_NULL, "toml");
}

static void multiplying(void) {
    bitmma_unit *unit = NULL;
    CHECK(bitmma_open("hopper", "mma.m16n8k16.f32.f16.f16.f32", NULL, &unit) == BITMMA_OK);
    for (int i = 0; i < 256; i++) a[i] = 0x3c00;
    for (int i = 0; i < 128; i++) b[i] = 0x3c00, c[i] = 0x40000000;
    bitmma_operands operands = whole();
    bitmma_output out = {d, 128, 0, 0};
    CHECK(bitmma_multiply(unit, &operands, 1, &out) == BITMMA_OK);
    for (int i = 0; i < 128; i++) CHECK(d[i] == 0x41900000); /* 16 + 2 */
    CHECK(bitmma_multiply(unit, &operands, 0, &out) == BITMMA_OK);

    /* a view of larger matrices, D on C, nothing between the rows touched; an address that no uint32_t has */
    static uint16_t wide_a[16 * 20], wide_b[16 * 11];
    static unsigned char wide_c[1 + 4 * 16 * 9];
    for (int i = 0; i < 16; i++) {
        for (int k = 0; k < 20; k++) wide_a[i * 20 + k] = k < 16 ? 0x3c00 : 0x7e00;
        for (int n = 0; n < 11; n++) wide_b[i * 11 + n] = n < 8 ? 0x3c00 : 0x7e00;
    }
    memset(wide_c, 0xff, sizeof wide_c);
    uint32_t two = 0x40000000, eighteen = 0x41900000;
    for (int i = 0; i < 16; i++)
        for (int n = 0; n < 8; n++) memcpy(wide_c + 1 + 4 * (i * 9 + n), &two, 4);
    bitmma_operands view = {{wide_a, 316, 20, 0}, {wide_b, 173, 11, 0}, {wide_c + 1, 143, 9, 0}, {0}, {0}};
    out = (bitmma_output){wide_c + 1, 143, 9, 0};
    CHECK(bitmma_multiply(unit, &view, 1, &out) == BITMMA_OK);
    for (int i = 0; i < 16; i++) {
        for (int n = 0; n < 8; n++) CHECK(memcmp(wide_c + 1 + 4 * (i * 9 + n), &eighteen, 4) == 0);
        CHECK(memcmp(wide_c + 1 + 4 * (i * 9 + 8), "\xff\xff\xff\xff", 4) == 0);
    }
    out = (bitmma_output){d, 128, 0, 0};

    /* two instructions, matrices apart; without C, C is +0 */
    static uint16_t two_a[600], two_b[256];
    static uint32_t two_d[300];
    for (int i = 0; i < 600; i++) two_a[i] = i < 300 ? 0x3c00 : 0x4000;
    for (int i = 0; i < 256; i++) two_b[i] = 0x3c00;
    memset(two_d, 0xff, sizeof two_d);
    bitmma_operands pair = {{two_a, 600, 0, 300}, {two_b, 256, 0, 0}, {0}, {0}, {0}};
    bitmma_output apart = {two_d, 300, 0, 150};
    CHECK(bitmma_multiply(unit, &pair, 2, &apart) == BITMMA_OK);
    CHECK(two_d[0] == 0x41800000 && two_d[127] == 0x41800000 && two_d[128] == 0xffffffff);
    CHECK(two_d[149] == 0xffffffff && two_d[150] == 0x42000000 && two_d[277] == 0x42000000 && two_d[278] == 0xffffffff);

    memset(d, 0x5a, sizeof d);
    FAILS(bitmma_multiply(NULL, &operands, 1, &out), BITMMA_NULL, "unit");
    FAILS(bitmma_multiply(unit, NULL, 1, &out), BITMMA_NULL, "operands");
    FAILS(bitmma_multiply(unit, &operands, 1, NULL), BITMMA_NULL, "d is");
    bitmma_operands wrong = operands;
    wrong.a.count = 255;
    FAILS(bitmma_multiply(unit, &wrong, 1, &out), BITMMA_SIZE, "A: 255 codes; 16×16 with rows 16 apart takes 256");
    wrong = operands, wrong.b.leading = 7;
    FAILS(bitmma_multiply(unit, &wrong, 1, &out), BITMMA_SIZE, "B: leading is 7; a row has 8 codes");
    wrong = operands, wrong.a.stride = 100;
    FAILS(bitmma_multiply(unit, &wrong, 2, &out), BITMMA_SIZE, "D: 128 codes");
    wrong = operands, wrong.a.codes = NULL;
    FAILS(bitmma_multiply(unit, &wrong, 1, &out), BITMMA_NULL, "A.codes");
    wrong = operands, wrong.a.leading = (size_t)-1 / 2;
    FAILS(bitmma_multiply(unit, &wrong, 1, &out), BITMMA_SIZE, "too large");
    wrong = operands, wrong.a = (bitmma_input){0};
    FAILS(bitmma_multiply(unit, &wrong, 1, &out), BITMMA_SIZE, "A: 0 codes");
    FAILS(bitmma_multiply(unit, &operands, (size_t)-1, &out), BITMMA_SIZE, "too large");
    wrong = operands, wrong.scale_a = (bitmma_input){a, 16, 0, 0};
    FAILS(bitmma_multiply(unit, &wrong, 1, &out), BITMMA_SCALE, "takes none");
    bitmma_output small = {d, 127, 0, 0};
    FAILS(bitmma_multiply(unit, &operands, 1, &small), BITMMA_SIZE, "D: 127 codes");
    CHECK(d[0] == 0x5a5a5a5a && d[127] == 0x5a5a5a5a);
    bitmma_close(unit);

    /* FP4 and its scale factors */
    CHECK(bitmma_open("rtx-blackwell", "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3", NULL, &unit) ==
          BITMMA_OK);
    static uint8_t a4[16 * 64], b4[64 * 8], of_a[16 * 4], of_b[4 * 8];
    memset(a4, 2, sizeof a4), memset(b4, 2, sizeof b4); /* ones */
    memset(of_a, 0x38, sizeof of_a), memset(of_b, 0x40, sizeof of_b); /* one, two */
    bitmma_operands narrow = {
        {a4, 1024, 0, 0}, {b4, 512, 0, 0}, {0}, {of_a, 64, 0, 0}, {of_b, 32, 0, 0}};
    CHECK(bitmma_multiply(unit, &narrow, 1, &out) == BITMMA_OK);
    CHECK(d[0] == 0x43000000 && d[127] == 0x43000000); /* 128 */
    b4[511] = 0x10;
    FAILS(bitmma_multiply(unit, &narrow, 1, &out), BITMMA_CODE, "B: code 511 is 0x10; e2m1 codes have 4 bits");
    b4[511] = 2;
    narrow.scale_b = (bitmma_input){0};
    FAILS(bitmma_multiply(unit, &narrow, 1, &out), BITMMA_SCALE, "scale B is missing");
    uint64_t answer;
    FAILS(bitmma_dot(unit, &narrow, &answer), BITMMA_SCALE, "scale B is missing");
    narrow.scale_b = (bitmma_input){of_b, 32, 8, 0}, narrow.b.leading = 8;
    CHECK(bitmma_dot(unit, &narrow, &answer) == BITMMA_OK && answer == 0x43000000);
    b4[8 * 63] = 0x10;
    FAILS(bitmma_dot(unit, &narrow, &answer), BITMMA_CODE, "B: code 63 is 0x10");
    bitmma_close(unit);
}

/* Equation 1 of the paper: row 0 of A, column 0 of B. */
static void one_element(void) {
    bitmma_unit *unit = NULL;
    CHECK(bitmma_open("h100", "mma.m16n8k16.f32.f16.f16.f32", NULL, &unit) == BITMMA_OK);
    memset(a, 0, sizeof a), memset(b, 0, sizeof b);
    const uint16_t row[4] = {0xf000, 0xb800, 0xb400, 0xb000}, column[4] = {0x6400, 0x3c00, 0x3c00, 0x3c00};
    for (int k = 0; k < 4; k++) a[k] = row[k], b[k * 8] = column[k];
    c[0] = 0x4b000000;
    bitmma_operands operands = whole();
    operands.b.leading = 8;
    uint64_t answer = 0;
    CHECK(bitmma_dot(unit, &operands, &answer) == BITMMA_OK && answer == 0xbf400000); /* -0.75 */
    FAILS(bitmma_dot(unit, &operands, NULL), BITMMA_NULL, "d is");
    operands.b.count = 120;
    FAILS(bitmma_dot(unit, &operands, &answer), BITMMA_SIZE, "B: 120 codes; 16×1 with rows 8 apart takes 121");
    operands.b.count = 121;
    static char text[1 << 16];
    size_t length = 0;
    FAILS(bitmma_explain(unit, &operands, NULL, 0, &length), BITMMA_BUFFER, "there is room for 0");
    CHECK(length > 1000 && length < sizeof text);
    text[0] = 'x';
    FAILS(bitmma_explain(unit, &operands, text, length, &length), BITMMA_BUFFER, "bytes");
    CHECK(text[0] == 'x');
    FAILS(bitmma_explain(unit, &operands, NULL, 5, &length), BITMMA_NULL, "text");
    CHECK(bitmma_explain(unit, &operands, text, length + 1, NULL) == BITMMA_OK && strlen(text) == length);
    CHECK(strstr(text, "\"0xbf400000\"") && strstr(text, "\"e_max\"") && strstr(text, "-0.125"));
    bitmma_close(unit);
}

static void whole_products(void) {
    bitmma_unit *unit = NULL;
    CHECK(bitmma_open("h100", "wgmma.m64nNk32.f32.e4m3.e4m3", NULL, &unit) == BITMMA_OK);
    enum { M = 5, N = 3, K = 70 };
    static uint8_t x[2 * M * K], y[2 * K * N];
    static float out[2 * M * N], in[2 * M * N];
    memset(x, 0x38, sizeof x), memset(y, 0x40, sizeof y); /* one, two */
    for (int i = 0; i < 2 * M * N; i++) in[i] = 4;
    bitmma_operands operands = {{x, 2 * M * K, 0, 0}, {y, 2 * K * N, 0, 0}, {in, 2 * M * N, 0, 0}, {0}, {0}};
    bitmma_output d = {out, 2 * M * N, 0, 0};
    CHECK(bitmma_gemm(unit, M, N, K, &operands, NULL, &d) == BITMMA_OK && out[0] == 144 && out[M * N] == 0);
    bitmma_gemm_options options = {0};
    options.products = 2, options.threads = 1;
    CHECK(bitmma_gemm(unit, M, N, K, &operands, &options, &d) == BITMMA_OK && out[2 * M * N - 1] == 144);
    const double alpha = 0.5, beta = -1;
    options.alpha = &alpha, options.beta = &beta, options.split_k = 2, options.promote_every = 32;
    CHECK(bitmma_gemm(unit, M, N, K, &operands, &options, &d) == BITMMA_OK && out[0] == 66);
    const double large = 1e39, infinite = 1.0 / 0.0;
    options.beta = &large;
    FAILS(bitmma_gemm(unit, M, N, K, &operands, &options, &d), BITMMA_OPTION, "beta is 1e39; it is rounded to f32");
    options.alpha = &infinite, options.beta = &beta;
    CHECK(bitmma_gemm(unit, M, N, K, &operands, &options, &d) == BITMMA_OK && out[0] > 1e38);
    options.alpha = &alpha;
    uint16_t halves[2 * M * N];
    options.output = "f16", options.rounding = "RZ", options.overflow = "saturate";
    d.codes = halves;
    CHECK(bitmma_gemm(unit, M, N, K, &operands, &options, &d) == BITMMA_OK && halves[7] == 0x5420);
    uint8_t fours[2 * M * N];
    const uint64_t minus_zero = 8, too_large = 16;
    options.output = "e2m1", options.rounding = NULL, in[1] = NAN;
    d.codes = fours;
    FAILS(bitmma_gemm(unit, M, N, K, &operands, &options, &d), BITMMA_CODE, "e2m1 has no NaN");
    options.nan = &too_large;
    FAILS(bitmma_gemm(unit, M, N, K, &operands, &options, &d), BITMMA_OPTION, "nan is 0x10; e2m1 codes have 4 bits");
    options.nan = &minus_zero;
    CHECK(bitmma_gemm(unit, M, N, K, &operands, &options, &d) == BITMMA_OK && fours[0] == 7 && fours[1] == 8);
    options.output = "f16", options.nan = NULL, in[1] = 4;
    d.codes = halves;
    options.rounding = "RX";
    FAILS(bitmma_gemm(unit, M, N, K, &operands, &options, &d), BITMMA_UNKNOWN, "RNE");
    options.rounding = NULL, options.overflow = "wrap";
    FAILS(bitmma_gemm(unit, M, N, K, &operands, &options, &d), BITMMA_UNKNOWN, "saturate");
    options.overflow = NULL, options.output = "f17";
    FAILS(bitmma_gemm(unit, M, N, K, &operands, &options, &d), BITMMA_UNKNOWN, "f16");
    options.output = "ue8m0";
    FAILS(bitmma_gemm(unit, M, N, K, &operands, &options, &d), BITMMA_OPTION, "output is ue8m0; it has no sign");
    options.output = NULL, options.rounding = "RNE";
    FAILS(bitmma_gemm(unit, M, N, K, &operands, &options, &d), BITMMA_OPTION, "output_rounding is RNE; it needs output");
    options.rounding = NULL, options.overflow = "saturate";
    FAILS(bitmma_gemm(unit, M, N, K, &operands, &options, &d), BITMMA_OPTION, "overflow is saturate; it needs output");
    options = (bitmma_gemm_options){0};
    d.codes = out;
    options.promote_every = 33;
    FAILS(bitmma_gemm(unit, M, N, K, &operands, &options, &d), BITMMA_OPTION, "promote_every is 33");
    options.promote_every = 0, options.threads = 100000;
    FAILS(bitmma_gemm(unit, M, N, K, &operands, &options, &d), BITMMA_OPTION, "4096");
    options.threads = 0;
    const float scales[M * 1 + 1] = {2, 2, 2, 2, 2, 3};
    operands.scale_a = (bitmma_input){scales, M, 0, 0}, operands.scale_b = (bitmma_input){scales + M, 1, 0, 0};
    operands.c = (bitmma_input){0};
    options.scale_blocks = "1x128,128x128";
    CHECK(bitmma_gemm(unit, M, N, K, &operands, &options, &d) == BITMMA_OK && out[0] == 840);
    options.scale_blocks = "1x128";
    FAILS(bitmma_gemm(unit, M, N, K, &operands, &options, &d), BITMMA_OPTION, "1x128");
    options.scale_blocks = NULL;
    FAILS(bitmma_gemm(unit, M, N, K, &operands, &options, &d), BITMMA_SCALE, "takes none");
    operands.scale_a = operands.scale_b = (bitmma_input){0};
    /* K of zero: D is C */
    operands.c = (bitmma_input){in, 2 * M * N, 0, 0};
    CHECK(bitmma_gemm(unit, M, N, 0, &operands, NULL, &d) == BITMMA_OK && out[M * N - 1] == 4);
    CHECK(bitmma_gemm(unit, 0, N, K, &operands, NULL, &d) == BITMMA_OK);
    FAILS(bitmma_gemm(unit, (size_t)-1, N, K, &operands, NULL, &d), BITMMA_SIZE, "too large");
    options = (bitmma_gemm_options){.products = 2};
    /* beside a zero the other sizes may be anything, and nothing goes over them */
    CHECK(bitmma_gemm(unit, (size_t)-1, 0, 0, &operands, &options, &d) == BITMMA_OK);
    options.products = (size_t)1 << 40;
    CHECK(bitmma_gemm(unit, M, 0, 0, &operands, &options, &d) == BITMMA_OK);
    CHECK(bitmma_gemm(unit, 0, 0, (size_t)1 << 62, &operands, &options, &d) == BITMMA_OK);
    FAILS(bitmma_gemm(unit, M, N, K + 200, &operands, NULL, &d), BITMMA_SIZE, "A: 700 codes; 5×270");
    bitmma_close(unit);
}

static void functions(void) {
    uint32_t x[3] = {0x3f000000, 0xbfc00000, 0x00000001}, y[3] = {0};
    CHECK(bitmma_function("turing", "ex2", 0, x, y, 3) == BITMMA_OK);
    CHECK(y[0] == 0x3fb504f3 && y[1] == 0x3eb504f2 && y[2] == 0x3f800000);
    CHECK(bitmma_function("h100", "rcp.approx.ftz.f32", 0, x, x, 3) == BITMMA_OK);
    CHECK(x[0] == 0x40000000 && x[2] == 0x7f800000);
    FAILS(bitmma_function("h100", "ex2", 0, x, y, 3), BITMMA_NO_MODEL, "ex2 on hopper: unknown");
    CHECK(bitmma_function("h100", "ex2", 1, x, y, 3) == BITMMA_OK && y[2] == 0x7f800000);
    CHECK(bitmma_function("h100", "rcp", 0, NULL, NULL, 0) == BITMMA_OK);
    FAILS(bitmma_function("mi300x", "rcp", 1, x, y, 3), BITMMA_NO_MODEL, "no model");
    FAILS(bitmma_function("h100", "exp", 0, x, y, 3), BITMMA_UNKNOWN, "exp");
    FAILS(bitmma_function("h1000", "rcp", 0, x, y, 3), BITMMA_UNKNOWN, "h1000");
    FAILS(bitmma_function("h100", "rcp", 0, NULL, y, 3), BITMMA_NULL, "x.codes");
    FAILS(bitmma_function("h100", "rcp", 0, x, NULL, 3), BITMMA_NULL, "y.codes");
    FAILS(bitmma_function(NULL, "rcp", 0, x, y, 3), BITMMA_NULL, "architecture");
    FAILS(bitmma_function("h100", NULL, 0, x, y, 3), BITMMA_NULL, "function");
    FAILS(bitmma_function("h100", "rcp", 0, x, y, (size_t)-1), BITMMA_SIZE, "");
}

static void converting(void) {
    const double numbers[] = {1, -0.1, 70000, 1.0 / 0.0, 0.0 / 0.0, 1e-8};
    uint16_t halves[6];
    CHECK(bitmma_convert("f64", numbers, "f16", NULL, NULL, halves, 6) == BITMMA_OK);
    CHECK(halves[0] == 0x3c00 && halves[1] == 0xae66 && halves[2] == 0x7c00 && halves[3] == 0x7c00);
    CHECK(halves[4] == 0x7e00 && halves[5] == 0);
    CHECK(bitmma_convert("f64", numbers, "f16", "RU", "saturate", halves, 6) == BITMMA_OK);
    CHECK(halves[1] == 0xae66 && halves[2] == 0x7bff && halves[3] == 0x7bff && halves[5] == 1);
    CHECK(bitmma_convert("f64", numbers, "f16", "RD", NULL, halves, 6) == BITMMA_OK && halves[1] == 0xae67);
    double back[6];
    CHECK(bitmma_convert("f16", halves, "f64", NULL, NULL, back, 6) == BITMMA_OK && back[0] == 1 && back[3] > 1e300);
    uint32_t same = 0xbf800000;
    CHECK(bitmma_convert("f32", &same, "bf16", NULL, NULL, &same, 1) == BITMMA_OK && (same & 0xffff) == 0xbf80);
    CHECK(bitmma_convert("f16", NULL, "f64", NULL, NULL, NULL, 0) == BITMMA_OK);
    uint8_t six[1] = {0x40};
    FAILS(bitmma_convert("e3m2", six, "f64", NULL, NULL, back, 1), BITMMA_CODE, "6 bits");
    const double not_all[3] = {1, 2, NAN};
    uint8_t four[3] = {9, 9, 9};
    FAILS(bitmma_convert("f64", not_all, "e2m1", NULL, NULL, four, 3), BITMMA_CODE, "from[2] is NaN, and e2m1 has no NaN");
    CHECK(four[0] == 9 && four[2] == 9);
    FAILS(bitmma_convert("f16", NULL, "f64", NULL, NULL, back, 1), BITMMA_NULL, "from.codes");
    FAILS(bitmma_convert("f16", halves, "f64", NULL, NULL, NULL, 1), BITMMA_NULL, "to.codes");
    FAILS(bitmma_convert("half", halves, "f64", NULL, NULL, back, 1), BITMMA_UNKNOWN, "half");
    bitmma_format format;
    CHECK(bitmma_find_format("TF32", &format) == BITMMA_OK && format.bits == 32 && strcmp(format.name, "tf32") == 0);
    CHECK(bitmma_find_format("e5m2fnuz", &format) == BITMMA_OK && format.bytes == 1);
    FAILS(bitmma_find_format("f17", &format), BITMMA_UNKNOWN, "f16");
    FAILS(bitmma_find_format("f16", NULL), BITMMA_NULL, "format");
}

int main(void) {
    CHECK(bitmma_last_error()[0] == 0);
    opening();
    multiplying();
    one_element();
    whole_products();
    converting();
    functions();
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
