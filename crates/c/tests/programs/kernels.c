/* Kernels: right bytes, and each error. Prints how many checks passed; exit code 1 if one failed. */
#define _POSIX_C_SOURCE 200112L
#include <stdlib.h>

#include "checks.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* out[i] = a * x[i] + out[i] by way of dynamic shared memory, for i below n; with a null pointer for out nothing. */
static const char *AXPY =
    ".version 8.0\n.target sm_80\n.address_size 64\n.extern .shared .align 4 .b8 shared[];\n"
    ".visible .entry axpy(.param .u64 .ptr .global .align 4 x, .param .u64 out, .param .f32 a, .param .u32 n)\n"
    "{ .reg .pred %p<3>; .reg .b32 %r<9>; .reg .f32 %f<5>; .reg .b64 %d<5>;\n"
    "ld.param.u64 %d1, [x]; ld.param.u64 %d2, [out]; ld.param.f32 %f1, [a]; ld.param.u32 %r1, [n];\n"
    "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r5, %r2, %r3, %r4;\n"
    "setp.ge.u32 %p1, %r5, %r1; setp.eq.u64 %p2, %d2, 0; or.pred %p1, %p1, %p2; @%p1 bra END;\n"
    "mad.wide.u32 %d3, %r5, 4, %d1; mad.wide.u32 %d4, %r5, 4, %d2;\n"
    "mov.u32 %r6, shared; mad.lo.u32 %r6, %r4, 4, %r6; ld.global.f32 %f2, [%d3]; st.shared.f32 [%r6], %f2;\n"
    "ld.shared.f32 %f2, [%r6]; ld.global.f32 %f3, [%d4]; mul.f32 %f4, %f1, %f2; add.f32 %f4, %f4, %f3;\n"
    "st.global.f32 [%d4], %f4;\nEND: ret; }\n"
    ".visible .entry forever(.param .u64 out)\n.reqntid 32\n"
    "{ .reg .b32 %r1; .reg .b64 %d1; .reg .pred %p1; ld.param.u64 %d1, [out]; mov.b32 %r1, 1; st.global.u32 [%d1], %r1;\n"
    "LOOP: add.u32 %r1, %r1, 2; setp.ne.u32 %p1, %r1, 0; @%p1 bra LOOP; ret; }\n"
    ".visible .entry doubtful(.param .u64 out)\n.reqntid 1\n"
    "{ .reg .f32 %f<5>; .reg .b64 %d1; ld.param.u64 %d1, [out]; ld.global.f32 %f1, [%d1];\n"
    "mul.ftz.f32 %f2, %f1, %f1; neg.ftz.f32 %f3, %f2; sub.ftz.f32 %f4, %f1, %f3; st.global.f32 [%d1], %f4; ret; }\n";

static const char *PRINTS =
    ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func (.param .b32 d) vprintf (.param .b64 f, .param .b64 a);\n"
    ".global .align 1 .b8 format[7] = {116, 119, 111, 195, 151, 10, 0};\n.visible .entry prints()\n.reqntid 1\n"
    "{ .reg .b64 %a<3>; mov.u64 %a1, format; cvta.global.u64 %a2, %a1;\n"
    "{ .param .b64 f; .param .b64 a; .param .b32 d; st.param.b64 [f], %a2; st.param.b64 [a], 0; call.uni (d), vprintf, (f, a); }\n"
    "ret; }\n";

static bitmma_argument pointer(size_t buffer, uint64_t offset) {
    return (bitmma_argument){.kind = BITMMA_POINTER, .buffer = buffer, .offset = offset};
}

static bitmma_argument integer(int64_t value) { return (bitmma_argument){.kind = BITMMA_INTEGER, .integer = value}; }

static bitmma_kernel *opened(const char *ptx, const char *entry, const char *compiler) {
    bitmma_kernel *kernel = NULL;
    CHECK(bitmma_open_kernel(ptx, entry, NULL, compiler, &kernel) == BITMMA_OK);
    return kernel;
}

static void opening(void) {
    bitmma_kernel *kernel = opened(AXPY, "axpy", NULL);
    bitmma_kernel_signature is;
    CHECK(bitmma_describe_kernel(kernel, &is) == BITMMA_OK);
    CHECK(strcmp(is.name, "axpy") == 0 && strcmp(is.target, "sm_80") == 0 && strcmp(is.fusion, "predicted") == 0);
    CHECK(is.parameters == 4 && is.block[0] == 0 && is.block[2] == 0);
    const char *expected[4][2] = {{"x", "pointer"}, {"out", "u64"}, {"a", "f32"}, {"n", "u32"}};
    bitmma_parameter parameter;
    for (size_t at = 0; at < 4; at++) {
        CHECK(bitmma_describe_parameter(kernel, at, &parameter) == BITMMA_OK);
        CHECK(strcmp(parameter.name, expected[at][0]) == 0 && strcmp(parameter.kind, expected[at][1]) == 0);
    }
    FAILS(bitmma_describe_parameter(kernel, 4, &parameter), BITMMA_SIZE, "index is 4; entry 'axpy' has 4 parameters");
    FAILS(bitmma_describe_parameter(kernel, 0, NULL), BITMMA_NULL, "parameter");
    FAILS(bitmma_describe_parameter(NULL, 0, &parameter), BITMMA_NULL, "kernel");
    FAILS(bitmma_describe_kernel(kernel, NULL), BITMMA_NULL, "signature");
    FAILS(bitmma_describe_kernel(NULL, &is), BITMMA_NULL, "kernel");
    bitmma_close_kernel(kernel);
    bitmma_close_kernel(NULL);
    CHECK(bitmma_open_kernel(AXPY, "forever", "sm_90a", "text", &kernel) == BITMMA_OK);
    CHECK(bitmma_describe_kernel(kernel, &is) == BITMMA_OK);
    CHECK(strcmp(is.target, "sm_90a") == 0 && strcmp(is.fusion, "text") == 0 && is.block[0] == 32 && is.block[1] == 1);
    bitmma_close_kernel(kernel);
    FAILS(bitmma_open_kernel(AXPY, NULL, NULL, NULL, &kernel), BITMMA_UNKNOWN, "'axpy', 'forever', 'doubtful'");
    FAILS(bitmma_open_kernel(AXPY, "axpi", NULL, NULL, &kernel), BITMMA_UNKNOWN, "no entry 'axpi'");
    FAILS(bitmma_open_kernel(AXPY, "axpy", "90", NULL, &kernel), BITMMA_UNKNOWN, "unknown target '90'");
    FAILS(bitmma_open_kernel(AXPY, "axpy", NULL, "fast", &kernel), BITMMA_UNKNOWN, "unknown compiler 'fast'; one of predict");
    FAILS(bitmma_open_kernel(AXPY, "axpy", NULL, "ask", &kernel), BITMMA_PTX, "ptxas and nvdisasm are not in");
    FAILS(bitmma_open_kernel("", NULL, NULL, NULL, &kernel), BITMMA_UNKNOWN, "no .entry");
    FAILS(bitmma_open_kernel("hello", NULL, NULL, NULL, &kernel), BITMMA_PTX, "line 1");
    FAILS(bitmma_open_kernel(".version 8.0\n.target sm_80\n.visible .entry e()\n{ .reg .u32 %r1; foo.u32 %r1; }", NULL, NULL, NULL, &kernel),
          BITMMA_PTX, "line 4: 'foo.u32' is not supported");
    FAILS(bitmma_open_kernel(NULL, NULL, NULL, NULL, &kernel), BITMMA_NULL, "ptx");
    FAILS(bitmma_open_kernel(AXPY, "axpy", NULL, NULL, NULL), BITMMA_NULL, "kernel");
}

/* By fusion (2^-24 remains), and as it is written; the pointers have offsets. */
static void launching(void) {
    const float x[5] = {9, 1 + 0x1p-12f, 2, 3, 4}, before[5] = {9, -1 - 0x1p-11f, 1, 1, 1};
    for (int fuses = 0; fuses < 2; fuses++) {
        float out[5];
        memcpy(out, before, sizeof out);
        bitmma_kernel *kernel = opened(AXPY, "axpy", fuses ? "predict" : "text");
        bitmma_buffer buffers[] = {{(void *)x, sizeof x}, {out, sizeof out}};
        bitmma_argument arguments[] = {pointer(0, 4), pointer(1, 4), {.kind = BITMMA_FLOAT, .number = x[1]}, integer(3)};
        uint64_t shared = 8;
        bitmma_launch_options options = {.grid = {2, 1, 1}, .block = {2, 1, 1}, .shared = &shared, .threads = 1 + (size_t)fuses};
#define LAUNCH() bitmma_launch(kernel, &options, arguments, COUNT(arguments), buffers, COUNT(buffers))
        CHECK(LAUNCH() == BITMMA_OK);
        CHECK(out[0] == 9 && out[1] == (fuses ? 0x1p-24f : 0) && out[2] == 2 * x[1] + 1 && out[3] == 3 * x[1] + 1 && out[4] == 1);
        memcpy(out, before, sizeof out);
        arguments[1] = (bitmma_argument){0};
        CHECK(LAUNCH() == BITMMA_OK && memcmp(out, before, sizeof out) == 0);
        arguments[1] = pointer(1, 4);

        /* after each error the buffers are as they were */
        arguments[3] = integer(4), options.grid[0] = 1, options.block[0] = 4, shared = 16;
        buffers[1].count = 16;
        FAILS(LAUNCH(), BITMMA_KERNEL, "buffer 1, which has 16 bytes");
        buffers[1].count = sizeof out, shared = 12;
        FAILS(LAUNCH(), BITMMA_KERNEL, "shared");
        shared = 1 << 20;
        FAILS(LAUNCH(), BITMMA_LAUNCH, "1048576 bytes of shared memory");
        shared = 16, arguments[3] = integer(-5000000000);
        FAILS(LAUNCH(), BITMMA_LAUNCH, "argument 3 is -5000000000, but parameter 'n' of type u32");
        arguments[3] = pointer(0, 0);
        FAILS(LAUNCH(), BITMMA_LAUNCH, "parameter 'n' is of type u32");
        arguments[3].kind = 5;
        FAILS(LAUNCH(), BITMMA_OPTION, "arguments[3].kind is 5; 0 to 4");
        arguments[3] = (bitmma_argument){.kind = BITMMA_TENSOR_MAP};
        FAILS(LAUNCH(), BITMMA_NULL, "arguments[3].map");
        arguments[3] = integer(4), arguments[0] = pointer(2, 0);
        FAILS(LAUNCH(), BITMMA_LAUNCH, "argument 0 names buffer 2 of 2");
        arguments[0] = pointer(0, 21);
        FAILS(LAUNCH(), BITMMA_SIZE, "argument 0 is byte 21 of buffer 0, which has 20");
        arguments[0] = pointer(0, (uint64_t)1 << 36);
        FAILS(LAUNCH(), BITMMA_SIZE, "argument 0 is byte 68719476736 of buffer 0");
        arguments[0] = pointer(0, 0), buffers[0].bytes = out + 4;
        FAILS(LAUNCH(), BITMMA_SIZE, "buffers 0 and 1 overlap");
        buffers[0].bytes = NULL;
        FAILS(LAUNCH(), BITMMA_NULL, "buffers[0].bytes");
        buffers[0] = (bitmma_buffer){(void *)x, (size_t)-1};
        FAILS(bitmma_launch(kernel, &options, arguments, 4, buffers, 1), BITMMA_MEMORY, "buffer 0, which has 18446744073709551615 bytes");
        buffers[0].count = sizeof x;
        FAILS(bitmma_launch(kernel, &options, arguments, 3, buffers, 2), BITMMA_LAUNCH, "entry 'axpy' takes 4 arguments, not 3: x, out, a, n");
        FAILS(bitmma_launch(kernel, &options, arguments, (size_t)-1, buffers, 2), BITMMA_SIZE, "arguments: 18446744073709551615 are given");
        FAILS(bitmma_launch(kernel, &options, arguments, 4, buffers, (size_t)-1), BITMMA_SIZE, "buffers: 18446744073709551615 are given");
        FAILS(bitmma_launch(kernel, &options, NULL, 4, buffers, 2), BITMMA_NULL, "arguments");
        FAILS(bitmma_launch(kernel, &options, arguments, 4, NULL, 2), BITMMA_NULL, "buffers");
        FAILS(bitmma_launch(kernel, NULL, arguments, 4, buffers, 2), BITMMA_NULL, "options");
        FAILS(bitmma_launch(NULL, &options, arguments, 4, buffers, 2), BITMMA_NULL, "kernel");
        options.grid[1] = 0;
        FAILS(LAUNCH(), BITMMA_LAUNCH, "a grid of (1, 0, 1) blocks");
        options.grid[1] = 1, options.block[0] = 2048;
        FAILS(LAUNCH(), BITMMA_LAUNCH, "a block of (2048, 1, 1) threads");
        memset(options.block, 0, sizeof options.block);
        FAILS(LAUNCH(), BITMMA_LAUNCH, "the launch must say the block");
        options.block[0] = options.block[1] = options.block[2] = 1, options.capacity = 9;
        FAILS(LAUNCH(), BITMMA_NULL, "printed");
        CHECK(memcmp(out, before, sizeof out) == 0);
        bitmma_close_kernel(kernel);
    }
    uint32_t word = 5;
    bitmma_kernel *kernel = opened(AXPY, "forever", NULL);
    bitmma_buffer buffers[] = {{&word, 4}};
    bitmma_argument arguments[] = {pointer(0, 0)};
    bitmma_launch_options options = {.grid = {1, 1, 1}, .loop_limit = 1000};
    FAILS(LAUNCH(), BITMMA_KERNEL, "1000");
    CHECK(word == 5);
    bitmma_close_kernel(kernel);
    kernel = opened(AXPY, "doubtful", NULL);
    word = 0x40400000, options.threads = 2; /* 3 */
    FAILS(LAUNCH(), BITMMA_DOUBTFUL, "allow_doubtful");
    CHECK(word == 0x40400000);
    options.allow_doubtful = 1;
    CHECK(LAUNCH() == BITMMA_OK && word == 0x41400000); /* 12 */
    bitmma_close_kernel(kernel);
}

/* What is cut ends with a whole character. */
static void printing(void) {
    bitmma_kernel *kernel = opened(PRINTS, NULL, NULL);
    char text[8];
    const struct { size_t capacity; const char *expected; } cases[] = {{8, "two×\n"}, {7, "two×\n"}, {6, "two×"}, {5, "two"}, {1, ""}};
    for (size_t at = 0; at < COUNT(cases); at++) {
        memset(text, 'x', sizeof text);
        bitmma_launch_options options = {.grid = {1, 1, 1}, .printed = text, .capacity = cases[at].capacity};
        CHECK(bitmma_launch(kernel, &options, NULL, 0, NULL, 0) == BITMMA_OK && strcmp(text, cases[at].expected) == 0);
        options.printed = NULL, options.capacity = 0;
        CHECK(bitmma_launch(kernel, &options, NULL, 0, NULL, 0) == BITMMA_OK);
    }
    bitmma_close_kernel(kernel);
}

enum { WIDTH = 12, HEIGHT = 16, OFFSET = 16, BOX = 8 };

/* A box of 8×8 words is copied from a tensor by its map, and as it lies in shared memory to `out`. */
static bitmma_kernel *box(void) {
    char text[16384];
    int length = sprintf(
        text,
        ".version 8.7\n.target sm_90a\n.address_size 64\n"
        ".visible .entry box(.param .align 64 .b8 map[128], .param .u64 out, .param .s32 x, .param .s32 y)\n.reqntid 1\n"
        "{ .reg .pred %%p<2>; .reg .b32 %%r<4>; .reg .b64 %%d<3>; .shared .align 256 .b8 s[256]; .shared .align 8 .b8 m[8];\n"
        "mov.b64 %%d1, map; cvta.param.u64 %%d1, %%d1; ld.param.u64 %%d2, [out]; ld.param.s32 %%r2, [x]; ld.param.s32 %%r3, [y];\n"
        "mbarrier.init.shared::cta.b64 [m], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 256;\n"
        "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [%%d1, {%%r2, %%r3}], [m];\n"
        "W: mbarrier.try_wait.parity.shared::cta.b64 %%p1, [m], 0; @!%%p1 bra W;\n");
    for (int at = 0; at < 256; at += 4)
        length += sprintf(text + length, "ld.shared.u32 %%r1, [s+%d]; st.global.u32 [%%d2+%d], %%r1;\n", at, at);
    strcpy(text + length, "ret; }\n");
    return opened(text, NULL, NULL);
}

static void mapping(void) {
    bitmma_kernel *kernel = box();
    bitmma_parameter parameter;
    CHECK(bitmma_describe_parameter(kernel, 0, &parameter) == BITMMA_OK && strcmp(parameter.kind, "b8") == 0);
    uint32_t tensor[OFFSET / 4 + HEIGHT * WIDTH], out[BOX * BOX];
    for (size_t at = 0; at < COUNT(tensor); at++) tensor[at] = 1000 + (uint32_t)at;
    uint64_t dim[2] = {WIDTH, HEIGHT}, strides[1] = {4 * WIDTH};
    uint32_t lengths[2] = {BOX, BOX}, steps[2] = {1, 1};
    bitmma_tensor_map map;
    bitmma_buffer buffers[] = {{out, sizeof out}, {tensor, sizeof tensor}};
    bitmma_argument arguments[] = {{.kind = BITMMA_TENSOR_MAP, .map = &map}, pointer(0, 0), integer(0), integer(0)};
    bitmma_launch_options options = {.grid = {1, 1, 1}};
    /* type, swizzle, filling, and where the box begins; those filled with zeros are partly outside of the tensor */
    const int cases[][5] = {{2, 0, 0, 2, 3}, {2, 1, 0, -3, 12}, {7, 1, 0, 8, -5}, {7, 0, 1, 4, 8}};
    for (size_t at = 0; at < COUNT(cases); at++) {
        const int type = cases[at][0], swizzle = cases[at][1], nan = cases[at][2], x = cases[at][3], y = cases[at][4];
        CHECK(bitmma_tensor_map_tiled(&map, (uint32_t)type, 2, 1, OFFSET, dim, strides, lengths, steps, 0, (uint32_t)swizzle,
                                      2, (uint32_t)nan) == BITMMA_OK);
        arguments[2] = integer(x), arguments[3] = integer(y);
        memset(out, 0x5a, sizeof out);
        CHECK(LAUNCH() == BITMMA_OK);
        for (int row = 0; row < BOX; row++) {
            for (int column = 0; column < BOX; column++) {
                const int inside = x + column >= 0 && x + column < WIDTH && y + row >= 0 && y + row < HEIGHT;
                const uint32_t expected = inside ? tensor[OFFSET / 4 + (y + row) * WIDTH + x + column] : 0;
                /* the swizzle of 32 bytes exchanges the halves of 32 bytes in every other 128 */
                const int place = row * BOX + (swizzle && row / 4 % 2 ? column ^ 4 : column);
                CHECK(out[place] == expected);
            }
        }
    }
    memset(out, 0x5a, sizeof out);
    arguments[2] = integer(5);
    FAILS(LAUNCH(), BITMMA_KERNEL, "elements outside of the tensor are NaN, whose bits are not known");
    /* what is found here, and what the launch finds */
#define MAP(type, rank, ...) bitmma_tensor_map_tiled(&map, type, rank, 1, OFFSET, __VA_ARGS__)
    FAILS(MAP(10, 2, dim, strides, lengths, steps, 0, 0, 0, 0), BITMMA_OPTION, "data_type is 10; only 0 to 9 is supported");
    FAILS(MAP(2, 0, dim, strides, lengths, steps, 0, 0, 0, 0), BITMMA_OPTION, "rank is 0; only 1 to 5");
    FAILS(MAP(2, 6, dim, strides, lengths, steps, 0, 0, 0, 0), BITMMA_OPTION, "rank is 6");
    FAILS(MAP(2, 2, dim, strides, lengths, steps, 1, 0, 0, 0), BITMMA_OPTION, "interleave is 1; only 0");
    FAILS(MAP(2, 2, dim, strides, lengths, steps, 0, 4, 0, 0), BITMMA_OPTION, "swizzle is 4; only 0 to 3");
    FAILS(MAP(2, 2, dim, strides, lengths, steps, 0, 0, 4, 0), BITMMA_OPTION, "l2_promotion is 4");
    FAILS(MAP(2, 2, dim, strides, lengths, steps, 0, 0, 0, 2), BITMMA_OPTION, "oob_fill is 2");
    FAILS(MAP(2, 2, NULL, strides, lengths, steps, 0, 0, 0, 0), BITMMA_NULL, "global_dim");
    FAILS(MAP(2, 2, dim, NULL, lengths, steps, 0, 0, 0, 0), BITMMA_NULL, "global_strides");
    FAILS(MAP(2, 2, dim, strides, NULL, steps, 0, 0, 0, 0), BITMMA_NULL, "box_dim");
    FAILS(MAP(2, 2, dim, strides, lengths, NULL, 0, 0, 0, 0), BITMMA_NULL, "element_strides");
    FAILS(bitmma_tensor_map_tiled(NULL, 2, 2, 1, 0, dim, strides, lengths, steps, 0, 0, 0, 0), BITMMA_NULL, "map");
    CHECK(MAP(2, 1, dim, NULL, lengths, steps, 0, 0, 0, 0) == BITMMA_OK);
    dim[1] = (uint64_t)1 << 32;
    FAILS(MAP(2, 2, dim, strides, lengths, steps, 0, 0, 0, 0), BITMMA_OPTION, "global_dim[1] is 4294967296");
    dim[1] = HEIGHT;
#define LAUNCH_FAILS(status, words, ...)                                                               \
    CHECK(MAP(__VA_ARGS__) == BITMMA_OK);                                                              \
    FAILS(LAUNCH(), status, words)
    lengths[0] = 300;
    LAUNCH_FAILS(BITMMA_LAUNCH, "a box has 1 to 256 elements along dimension 0, not 300", 2, 2, dim, strides, lengths, steps, 0, 0, 0, 0);
    lengths[0] = 7;
    LAUNCH_FAILS(BITMMA_LAUNCH, "a multiple of 16 bytes, not 28", 2, 2, dim, strides, lengths, steps, 0, 0, 0, 0);
    lengths[0] = BOX, strides[0] = 40;
    LAUNCH_FAILS(BITMMA_LAUNCH, "multiples of 16 bytes, not 40", 2, 2, dim, strides, lengths, steps, 0, 0, 0, 0);
    strides[0] = 4 * WIDTH, steps[1] = 9;
    LAUNCH_FAILS(BITMMA_LAUNCH, "a step of 1 to 8, not 9", 2, 2, dim, strides, lengths, steps, 0, 0, 0, 0);
    steps[1] = 1;
    CHECK(MAP(2, 2, dim, strides, lengths, steps, 0, 0, 0, 0) == BITMMA_OK);
    map.offset = 8;
    FAILS(LAUNCH(), BITMMA_LAUNCH, "multiple of 16, not 0x8");
    map.offset = sizeof tensor + 16;
    FAILS(LAUNCH(), BITMMA_SIZE, "argument 0 is byte 800 of buffer 1, which has 784");
    map.offset = OFFSET, map.buffer = 2;
    FAILS(LAUNCH(), BITMMA_LAUNCH, "argument 0 names buffer 2 of 2");
    map.buffer = 1, map.rank = 200, map.kind = 99, map.swizzle = 77;
    FAILS(LAUNCH(), BITMMA_LAUNCH, "1 to 5 dimensions, not 200");
    map.rank = 2;
    FAILS(LAUNCH(), BITMMA_LAUNCH, "type 0x63");
    map.kind = 2;
    FAILS(LAUNCH(), BITMMA_LAUNCH, "swizzle 0 to 3, not 77");
    /* a tensor beyond the end of its buffer */
    dim[1] = HEIGHT + 1, arguments[3] = integer(HEIGHT - 1);
    LAUNCH_FAILS(BITMMA_KERNEL, "buffer 1, which has 784 bytes", 2, 2, dim, strides, lengths, steps, 0, 0, 0, 0);
    arguments[1] = arguments[0];
    FAILS(LAUNCH(), BITMMA_LAUNCH, "argument 1 is a tensor map of 128 bytes, but parameter 'out' has 8");
    for (size_t at = 0; at < COUNT(out); at++) CHECK(out[at] == 0x5a5a5a5a);
    bitmma_close_kernel(kernel);
}

/* Twelve pixels of four words, of two images of 3×4, as the offset along W moves them, by their map. */
static void pixels(void) {
    bitmma_kernel *kernel = opened(
        ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry pixels(.param .align 64 .b8 map[128], .param .u64 out)\n.reqntid 1\n"
        "{ .reg .pred %p<2>; .reg .b64 %d<3>; .shared .align 128 .b8 s[192]; .shared .align 8 .b8 m[8];\n"
        "mov.b64 %d1, map; cvta.param.u64 %d1, %d1; ld.param.u64 %d2, [out];\n"
        "mbarrier.init.shared::cta.b64 [m], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 192;\n"
        "cp.async.bulk.tensor.4d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [s], [%d1, {0, -1, 1, 0}], [m], {1, 0};\n"
        "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [m], 0; @!%p1 bra W;\n"
        "cp.async.bulk.global.shared::cta.bulk_group [%d2], [s], 192; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret; }\n",
        NULL, NULL);
    enum { CHANNELS = 4, W = 4, H = 3, N = 2, PIXELS = 12 };
    uint32_t tensor[N * H * W * CHANNELS], out[PIXELS * CHANNELS];
    for (size_t at = 0; at < COUNT(tensor); at++) tensor[at] = 1000 + (uint32_t)at;
    const uint64_t dim[4] = {CHANNELS, W, H, N}, strides[3] = {4 * CHANNELS, 4 * CHANNELS * W, 4 * CHANNELS * W * H};
    const int32_t lower[2] = {-1, 0}, upper[2] = {-2, 0};
    const uint32_t steps[4] = {1, 1, 1, 1};
    bitmma_tensor_map map;
    bitmma_buffer buffers[] = {{out, sizeof out}, {tensor, sizeof tensor}};
    bitmma_argument arguments[] = {{.kind = BITMMA_TENSOR_MAP, .map = &map}, pointer(0, 0)};
    bitmma_launch_options options = {.grid = {1, 1, 1}};
#define IM2COL(rank, lower, upper) \
    bitmma_tensor_map_im2col(&map, 2, rank, 1, 0, dim, strides, lower, upper, CHANNELS, PIXELS, steps, 0, 0, 0, 0)
    CHECK(IM2COL(4, lower, upper) == BITMMA_OK);
    CHECK(LAUNCH() == BITMMA_OK);
    for (int pixel = 0; pixel < PIXELS; pixel++) {
        /* from row 1 of the first image on, three pixels of each row */
        const int row = 1 + pixel / 3, column = pixel % 3;
        for (int channel = 0; channel < CHANNELS; channel++)
            CHECK(out[pixel * CHANNELS + channel] == tensor[(row * W + column) * CHANNELS + channel]);
    }
    FAILS(IM2COL(2, lower, upper), BITMMA_OPTION, "rank is 2; only 3 to 5 is supported");
    FAILS(IM2COL(4, NULL, upper), BITMMA_NULL, "pixel_box_lower_corner");
    FAILS(IM2COL(4, lower, NULL), BITMMA_NULL, "pixel_box_upper_corner");
    const int32_t far[2] = {-129, 0};
    CHECK(IM2COL(4, far, upper) == BITMMA_OK);
    FAILS(LAUNCH(), BITMMA_LAUNCH, "a corner of im2col is -128 to 127 along W, not -129");
    CHECK(IM2COL(4, lower, upper) == BITMMA_OK);
    map.boxes = 2;
    FAILS(LAUNCH(), BITMMA_LAUNCH, "a tensor map of im2col::w has a swizzle of 64 or 128 bytes");
    map.boxes = 9;
    FAILS(LAUNCH(), BITMMA_OPTION, "a tensor map has boxes of kind 0 to 3, not 9");
    bitmma_close_kernel(kernel);
}

int main(void) {
    /* no tools are found */
    const char *variables[] = {"PATH", "BITMMA_CUDA_TOOLS", "CUDA_HOME", "CUDA_PATH"};
    for (size_t at = 0; at < COUNT(variables); at++) setenv(variables[at], "", 1);
    opening();
    launching();
    printing();
    mapping();
    pixels();
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
