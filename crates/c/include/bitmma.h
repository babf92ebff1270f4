/* bitmma: what the matrix multiply-accumulate instructions of GPUs return, bit for bit.
 *
 * Operand bits go in, result bits come out: docs/c.md has examples.
 *
 * Every function may be called from any thread, and any number of threads may use one unit at once. Pointers must be NULL
 * where that is allowed, or valid for what the function reads and writes there. Texts are UTF-8 and end with a zero.
 * Everything else is checked: what is wrong is an error, and then outputs are as they were.
 *
 * This file is made from the sources in crates/c/src; a test compares it. */

#ifndef BITMMA_H
#define BITMMA_H

#include <stddef.h>
#include <stdint.h>

// An argument that is a null pointer.
#define BITMMA_NULL_POINTER 0

// An argument that is a pointer into a buffer: `buffer` and `offset`.
#define BITMMA_POINTER 1

// An argument that is a whole number: `integer`.
#define BITMMA_INTEGER 2

// An argument that is a number, rounded to the type of its parameter: `number`.
#define BITMMA_FLOAT 3

// An argument that is a tensor map: `map`.
#define BITMMA_TENSOR_MAP 4

// What a call returns. After everything but `BITMMA_OK` outputs are as they were, and `bitmma_last_error` says what is
// wrong, with the numbers.
typedef enum bitmma_status {
  // Done.
  BITMMA_OK = 0,
  // A pointer is NULL that must not be.
  BITMMA_NULL = 1,
  // An unknown name: of an architecture, instruction, revision, format, rounding, overflow rule, entry or compiler.
  BITMMA_UNKNOWN = 2,
  // The instruction is known, how it computes is not.
  BITMMA_NO_MODEL = 3,
  // A model does not read, or does not take this K.
  BITMMA_MODEL = 4,
  // A shape, leading dimension, stride, number of codes or place in a buffer is wrong.
  BITMMA_SIZE = 5,
  // A code has bits that its format does not have, or is NaN where the format of the result has none.
  BITMMA_CODE = 6,
  // Scale factors are missing, or given to a unit that takes none.
  BITMMA_SCALE = 7,
  // An option is out of its range.
  BITMMA_OPTION = 8,
  // A matrix or buffer of this size cannot be held in memory.
  BITMMA_MEMORY = 9,
  // The buffer for a text is too small; nothing was written but the length.
  BITMMA_BUFFER = 10,
  // A bug of this library.
  BITMMA_INTERNAL = 11,
  // A PTX text does not read or has an instruction that is not supported, or ptxas was to be asked and gives nothing.
  BITMMA_PTX = 12,
  // A kernel has instructions whose results on a GPU are not known.
  BITMMA_DOUBTFUL = 13,
  // A launch does not fit its kernel: arguments, grid, block, shared memory or a tensor map.
  BITMMA_LAUNCH = 14,
  // A kernel did something wrong while it ran.
  BITMMA_KERNEL = 15,
} bitmma_status;

// An entry of a PTX text, ready to run. It does not change: any number of threads may launch it at once.
typedef struct bitmma_kernel bitmma_kernel;

// An operand B prepared for a unit, which may be closed before it.
typedef struct bitmma_prepared bitmma_prepared;

// An instruction or a model, ready to compute. It does not change: any number of threads may use it at once.
typedef struct bitmma_unit bitmma_unit;

// A format of numbers.
typedef struct bitmma_format {
  // Its name, ended by a zero, as in "f16"; empty: none.
  char name[16];
  // Bits of a code.
  uint32_t bits;
  // Bytes of a code in memory: 1, 2, 4 or 8.
  uint32_t bytes;
} bitmma_format;

// What a unit takes and gives: D = A·B + C, with A M×K, B K×N, C and D M×N, `blocks` times.
typedef struct bitmma_signature {
  // The instruction, as in "hopper/mma.m16n8k16.f32.f16.f16.f32", or "model". The unit owns the text.
  const char *name;
  // Rows of A, C and D.
  size_t m;
  // Columns of B, C and D.
  size_t n;
  // Columns of A, rows of B.
  size_t k;
  // Independent products in one instruction.
  size_t blocks;
  // Format of A.
  struct bitmma_format a;
  // Format of B.
  struct bitmma_format b;
  // Format of C.
  struct bitmma_format c;
  // Format of D.
  struct bitmma_format d;
  // Format of the scale factors; none for most units.
  struct bitmma_format scale;
  // Elements along K that share a scale factor; 0 without them. A has M × K/scale_size factors, B K/scale_size × N.
  size_t scale_size;
  // The format of alpha and beta, in which `bitmma_gemm` adds parts.
  struct bitmma_format working;
  // 1 where the vendor specifies no code for NaN results, so that any NaN agrees with any other; else 0.
  uint32_t any_nan;
} bitmma_signature;

// Codes to be read: matrices of one shape, row-major. A code takes 1, 2, 4 or 8 bytes, in the byte order of the machine:
// the fewest that hold its format; 4- and 6-bit codes take one byte each, TF32 four. The address needs no alignment.
//
// All zero says that there is no such operand.
typedef struct bitmma_input {
  // The first code.
  const void *codes;
  // How many codes there are from there on. No more are read.
  size_t count;
  // Codes from one row to the next, at least a row's length; 0: the row's length.
  size_t leading;
  // Codes from one matrix to the next, where there are several; 0: rows times `leading`.
  size_t stride;
} bitmma_input;

// What goes into a product. Without C (all zero) C is +0. Scale factors are for units that take them, which must have
// them.
typedef struct bitmma_operands {
  // A: M×K.
  struct bitmma_input a;
  // B: K×N.
  struct bitmma_input b;
  // C: M×N.
  struct bitmma_input c;
  // Scale factors of A: M × K/scale_size.
  struct bitmma_input scale_a;
  // Scale factors of B: K/scale_size × N.
  struct bitmma_input scale_b;
} bitmma_operands;

// Codes to be written, as `bitmma_input`. What lies between rows and matrices stays as it is. It may be the memory of an
// operand: all operands are read first.
typedef struct bitmma_output {
  // The first code.
  void *codes;
  // How many codes there is room for.
  size_t count;
  // Codes from one row to the next, at least a row's length; 0: the row's length.
  size_t leading;
  // Codes from one matrix to the next, where there are several; 0: rows times `leading`.
  size_t stride;
} bitmma_output;

// How a product is made. All zero: one product, one part, no promotion, alpha and beta 1, D as the unit gives it, a
// thread for each core.
typedef struct bitmma_gemm_options {
  // Products of one shape, matrix after matrix; 0: 1.
  size_t products;
  // Parts of K, added at the end; 0: 1.
  size_t split_k;
  // Elements along K after which the accumulator is added to a sum, a multiple of the unit's K; 0: never.
  size_t promote_every;
  // Threads, at most 4096; 0: one for each core.
  size_t threads;
  // The factor of A·B, rounded to the unit's working format, and not beyond its largest number; NULL: 1.
  const double *alpha;
  // The factor of C, likewise; NULL: 1.
  const double *beta;
  // FP32 scales of blocks in `scale_a` and `scale_b`: "1x128,128x128" (rows of A by K, columns of B by K) or "row";
  // NULL: none.
  const char *scale_blocks;
  // The format that D is converted to, one with a sign; NULL: the unit's own.
  const char *output;
  // How it is rounded: "RNE", "RZ", … (docs/models.md); NULL: "RNE", and without `output`.
  const char *rounding;
  // What becomes of numbers beyond its largest: "ieee", "infinity" or "saturate"; NULL: "ieee", and without `output`.
  const char *overflow;
  // The code of `output` that NaN becomes; NULL: its own NaN, and where it has none (FP6, FP4) NaN is refused.
  const uint64_t *nan;
} bitmma_gemm_options;

// What is known of a kernel before it runs. The kernel owns the texts.
typedef struct bitmma_kernel_signature {
  // The entry.
  const char *name;
  // The architecture that it runs as, as in "sm_90a".
  const char *target;
  // How it is known what ptxas fuses and folds: "predicted", "asked (ptxas 13.0.88)", "off" or "text".
  const char *fusion;
  // The block that `.reqntid` requires; zeros: none.
  uint32_t block[3];
  // How many parameters it has: `bitmma_describe_parameter` describes each.
  size_t parameters;
} bitmma_kernel_signature;

// A parameter of a kernel. The kernel owns the texts.
typedef struct bitmma_parameter {
  // Its name in the text.
  const char *name;
  // Its type as in "u32", or "pointer" where the text says that it is one (`.ptr`); a tensor map has type "b8".
  const char *kind;
} bitmma_parameter;

// A tensor in a buffer and the boxes of it that a kernel copies, as `bitmma_tensor_map_tiled` and `bitmma_tensor_map_im2col` write it.
typedef struct bitmma_tensor_map {
  // The number of its buffer in the launch.
  size_t buffer;
  // Where the tensor begins in it, in bytes.
  uint64_t offset;
  // Bytes between neighbours along each dimension but the first.
  uint64_t strides[4];
  // Elements along each dimension.
  uint32_t dimensions[5];
  // Elements of a box; of im2col channels of a pixel, and pixels.
  uint32_t lengths[5];
  // Of how many elements each is copied.
  uint32_t steps[5];
  // The type of the elements, by its number in `tensormap.replace`.
  uint8_t kind;
  // Dimensions.
  uint8_t rank;
  // How chunks of 16 bytes are exchanged.
  uint8_t swizzle;
  // 1 where elements outside of the tensor are NaN, 0 where they are zero.
  uint8_t fills_nan;
  // What a box is: 0 tiled, 1 im2col, 2 `im2col::w`, 3 `im2col::w::128`.
  uint8_t boxes;
  // Where the pixels of im2col begin along W, H and D, from the first of an image.
  int32_t lower[3];
  // Where they end, from the end of an image.
  int32_t upper[3];
} bitmma_tensor_map;

// How a kernel is launched.
typedef struct bitmma_launch_options {
  // Blocks: x, y, z.
  uint32_t grid[3];
  // Threads of a block: x, y, z; zeros: what the entry requires.
  uint32_t block[3];
  // Bytes of dynamic shared memory; NULL: as many as the architecture has.
  const uint64_t *shared;
  // Turns of the loops of a warp after which the launch is an error; 0: 10,000,000.
  uint64_t loop_limit;
  // Threads of this machine; 0: one for each core.
  size_t threads;
  // Not 0: kernels run although results of theirs on a GPU are not known, or depend on the order of blocks.
  uint32_t allow_doubtful;
  // Receives what the kernel printed and a zero, cut to `capacity` bytes; NULL with a `capacity` of 0: it is dropped.
  char *printed;
  // Bytes that `printed` has room for.
  size_t capacity;
} bitmma_launch_options;

// An argument of a launch. All zero is a null pointer.
typedef struct bitmma_argument {
  // BITMMA_POINTER, BITMMA_INTEGER, …; it says which of the other fields are read.
  uint32_t kind;
  // The number of the buffer among those of the launch.
  size_t buffer;
  // Bytes from the start of the buffer, at most its length.
  uint64_t offset;
  // The value of an integer; of an unsigned one of 64 bits its bits.
  int64_t integer;
  // The value of a float.
  double number;
  // The tensor map.
  const struct bitmma_tensor_map *map;
} bitmma_argument;

// Memory that a kernel reads and writes. Buffers must not overlap. Only those that the kernel writes to are written.
typedef struct bitmma_buffer {
  // The first byte.
  void *bytes;
  // How many there are.
  size_t count;
} bitmma_buffer;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// What was wrong with this thread's last call that failed; empty if none has. The text is this thread's, and stays as it
// is until its next call that fails.
const char *bitmma_last_error(void);

// The version of the library, as in "0.1.0".
const char *bitmma_version(void);

// Opens an instruction.
//
// `architecture`: a name ("hopper"), a compiler's target ("sm_90a", "gfx942") or a chip ("h100", "mi300x"); "cpu" for an
// instruction of a processor. `instruction`: the name in docs/instructions.md or one of its aliases. `revision`:
// "hardware" or "paper"; NULL: "hardware". `unit` receives the unit, which `bitmma_close` ends.
enum bitmma_status bitmma_open(const char *architecture,
                               const char *instruction,
                               const char *revision,
                               struct bitmma_unit **unit);

// Opens a model: the text of a file as `bitmma show --toml` prints it and docs/models.md describes it, as an instruction of
// M×N×K.
enum bitmma_status bitmma_open_model(const char *toml,
                                     size_t m,
                                     size_t n,
                                     size_t k,
                                     struct bitmma_unit **unit);

// Ends a unit, which no call may be using. NULL is ignored.
void bitmma_close(struct bitmma_unit *unit);

// What a unit takes and gives.
enum bitmma_status bitmma_describe(const struct bitmma_unit *unit, struct bitmma_signature *signature);

// D = A·B + C by `count` instructions, all of the unit's shape.
//
// Matrix after matrix: those of the first instruction (as many as the unit has blocks), then those of the second, …
enum bitmma_status bitmma_multiply(const struct bitmma_unit *unit,
                                   const struct bitmma_operands *operands,
                                   size_t count,
                                   const struct bitmma_output *d);

// One element of D: A is a row of K codes, B a column (`leading` apart; 0: 1), C one code; scale factors likewise.
//
// `d` receives the code, in the low bits.
enum bitmma_status bitmma_dot(const struct bitmma_unit *unit, const struct bitmma_operands *operands, uint64_t *d);

// D = alpha·A·B + beta·C: A M×K, B K×N, C and D M×N, of any size, zero included, as a kernel on the GPU makes it of the
// unit's instruction.
//
// K is padded with +0 to whole instructions, which can change the result as it does on the GPU. Scale factors are
// M × ceil(K/scale_size) and ceil(K/scale_size) × N; with `scale_blocks` FP32, ceil(M/rows) × ceil(K/k) and
// ceil(K/k) × ceil(N/columns). docs/c.md has the order of operations. NULL for `options` is all zero.
enum bitmma_status bitmma_gemm(const struct bitmma_unit *unit,
                               size_t m,
                               size_t n,
                               size_t k,
                               const struct bitmma_operands *operands,
                               const struct bitmma_gemm_options *options,
                               const struct bitmma_output *d);

// Makes B (K×N) ready for any number of products: packed once, in about the bytes of its codes. `scale_b` are its scale
// factors, ceil(K/scale_size) × N, for units that take them; all zero or NULL otherwise. `threads` as in
// `bitmma_gemm_options`. `prepared` receives the operand, which `bitmma_free_prepared` ends; B is copied.
enum bitmma_status bitmma_prepare(const struct bitmma_unit *unit,
                                  size_t n,
                                  size_t k,
                                  const struct bitmma_input *b,
                                  const struct bitmma_input *scale_b,
                                  size_t threads,
                                  struct bitmma_prepared **prepared);

// D = alpha·A·B + beta·C as by `bitmma_gemm`, with a B that was prepared; of `operands` B is all zero, and so are its scale
// factors, but for FP32 scales of blocks. One product at a time.
enum bitmma_status bitmma_multiply_prepared(const struct bitmma_prepared *prepared,
                                            size_t m,
                                            const struct bitmma_operands *operands,
                                            const struct bitmma_gemm_options *options,
                                            const struct bitmma_output *d);

// Ends an operand that was prepared, which no call may be using. NULL is ignored.
void bitmma_free_prepared(struct bitmma_prepared *prepared);

// Every step of one element of D, with operands as `bitmma_dot` takes them: JSON, the keys `schema`, `steps` and `d` of
// `bitmma explain --json`.
//
// `text` receives it and a zero, if it fits into `capacity` bytes; `length` the bytes that it takes without the zero. NULL
// for `text` with a `capacity` of 0 asks for the length, which is `BITMMA_BUFFER`.
enum bitmma_status bitmma_explain(const struct bitmma_unit *unit,
                                  const struct bitmma_operands *operands,
                                  char *text,
                                  size_t capacity,
                                  size_t *length);

// A format by its name: "f64", "f32", "tf32", "bf16", "f16", "e4m3", … (docs/formats.md).
enum bitmma_status bitmma_find_format(const char *name, struct bitmma_format *format);

// Converts `count` codes next to each other from one format into another, each rounded once.
//
// The codes of "f64" are doubles and those of "f32" floats, so this encodes numbers and decodes codes, too. `rounding` and
// `overflow` are as in `bitmma_gemm_options`; NULL: "RNE" and "ieee". NaN becomes the
// format's NaN, and is refused where there is none (FP6, FP4). `to` may be the memory of `from`.
enum bitmma_status bitmma_convert(const char *from_format,
                                  const void *from,
                                  const char *to_format,
                                  const char *rounding,
                                  const char *overflow,
                                  void *to,
                                  size_t count);

// Results of an approximate function of an NVIDIA GPU for `count` FP32 codes next to each other: the PTX instruction
// `function`, as in "ex2" or "ex2.approx.f32" (subnormal numbers are numbers) and "ex2.approx.ftz.f32" (they are zero of
// their sign); rcp, sqrt, rsqrt, ex2, lg2, sin, cos.
//
// Where nothing is known of the architecture, BITMMA_NO_MODEL says so, unless `assume` is not 0: then the model is that of
// Volta and Turing. `y` may be the memory of `x`.
enum bitmma_status bitmma_function(const char *architecture,
                                   const char *function,
                                   int assume,
                                   const void *x,
                                   void *y,
                                   size_t count);

// Opens a kernel, as it is compiled.
//
// `ptx`: the text. `entry`: the name of an entry; NULL: the only one. `target`: an architecture such as "sm_90a"; NULL: that
// of the text. `compiler`: how it is found out what ptxas makes of the text, where that changes bits: NULL or "predict", by
// a rule; "ask", by running ptxas and nvdisasm, which must be found (docs/kernels.md); "off", by the rule of
// `--fmad=false`; "text", the text as it is written. `kernel` receives the kernel, which `bitmma_close_kernel` ends.
enum bitmma_status bitmma_open_kernel(const char *ptx,
                                      const char *entry,
                                      const char *target,
                                      const char *compiler,
                                      struct bitmma_kernel **kernel);

// Ends a kernel, which no call may be using. NULL is ignored.
void bitmma_close_kernel(struct bitmma_kernel *kernel);

// What is known of a kernel.
enum bitmma_status bitmma_describe_kernel(const struct bitmma_kernel *kernel,
                                          struct bitmma_kernel_signature *signature);

// A parameter of a kernel, counted from 0.
enum bitmma_status bitmma_describe_parameter(const struct bitmma_kernel *kernel,
                                             size_t index,
                                             struct bitmma_parameter *parameter);

// A tensor map with the parameters of cuTensorMapEncodeTiled, in their order; the numbers are those of its enumerations.
//
// `data_type` (CUtensorMapDataType): 0 to 5 for u8, u16, u32, s32, u64, s64; 6 to 9 for f16, f32, f64, bf16. `rank`: 1 to 5.
// `buffer` and `offset` are the global address: a buffer of the launch by its number, and bytes from its start.
// `global_dim`, `box_dim` and `element_strides` have `rank` numbers, `global_strides` one less, in bytes; the first dimension
// is the one that lies together. `interleave`: 0. `swizzle`: 0, or 1 to 3 for 32, 64 and 128 bytes. `l2_promotion`: 0 to 3,
// which changes no bits. `oob_fill`: 0 for zeros, 1 for NaN. `bitmma_launch` checks alignments and sizes.
enum bitmma_status bitmma_tensor_map_tiled(struct bitmma_tensor_map *map,
                                           uint32_t data_type,
                                           uint32_t rank,
                                           size_t buffer,
                                           uint64_t offset,
                                           const uint64_t *global_dim,
                                           const uint64_t *global_strides,
                                           const uint32_t *box_dim,
                                           const uint32_t *element_strides,
                                           uint32_t interleave,
                                           uint32_t swizzle,
                                           uint32_t l2_promotion,
                                           uint32_t oob_fill);

// A tensor map with the parameters of cuTensorMapEncodeIm2col, in their order: those of `bitmma_tensor_map_tiled`, for a `rank` of 3 to 5,
// of NWC, NHWC or NDHWC with the first dimension C.
//
// `pixel_box_lower_corner` and `pixel_box_upper_corner` have `rank` - 2 numbers, along W, H and D. For what cuTensorMapEncodeIm2colWide makes
// change `boxes` of the map afterwards; it takes the corners along W.
enum bitmma_status bitmma_tensor_map_im2col(struct bitmma_tensor_map *map,
                                            uint32_t data_type,
                                            uint32_t rank,
                                            size_t buffer,
                                            uint64_t offset,
                                            const uint64_t *global_dim,
                                            const uint64_t *global_strides,
                                            const int32_t *pixel_box_lower_corner,
                                            const int32_t *pixel_box_upper_corner,
                                            uint32_t channels_per_pixel,
                                            uint32_t pixels_per_column,
                                            const uint32_t *element_strides,
                                            uint32_t interleave,
                                            uint32_t swizzle,
                                            uint32_t l2_promotion,
                                            uint32_t oob_fill);

// Runs a kernel on buffers, and writes to them what it leaves; after an error they are as they were.
//
// `arguments` has one for each parameter of the kernel. Pointers and tensor maps name one of `buffers` by its number, counted
// from 0. A launch starts threads of its own, which end before it returns; it holds two copies of the buffers or more.
enum bitmma_status bitmma_launch(const struct bitmma_kernel *kernel,
                                 const struct bitmma_launch_options *options,
                                 const struct bitmma_argument *arguments,
                                 size_t argument_count,
                                 const struct bitmma_buffer *buffers,
                                 size_t buffer_count);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BITMMA_H */
