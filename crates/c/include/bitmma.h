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

// What a call returns. After everything but `BITMMA_OK` outputs are as they were, and `bitmma_last_error` says what is
// wrong, with the numbers.
typedef enum bitmma_status {
  // Done.
  BITMMA_OK = 0,
  // A pointer is NULL that must not be.
  BITMMA_NULL = 1,
  // An unknown name: of an architecture, instruction, revision, format, rounding or overflow rule.
  BITMMA_UNKNOWN = 2,
  // The instruction is known, how it computes is not.
  BITMMA_NO_MODEL = 3,
  // A model does not read, or does not take this K.
  BITMMA_MODEL = 4,
  // A shape, leading dimension, stride or number of codes is wrong.
  BITMMA_SIZE = 5,
  // A code has bits that its format does not have, or is NaN where the format of the result has none.
  BITMMA_CODE = 6,
  // Scale factors are missing, or given to a unit that takes none.
  BITMMA_SCALE = 7,
  // An option is out of its range.
  BITMMA_OPTION = 8,
  // A matrix of this size cannot be held in memory.
  BITMMA_MEMORY = 9,
  // The buffer for a text is too small; nothing was written but the length.
  BITMMA_BUFFER = 10,
  // A bug of this library.
  BITMMA_INTERNAL = 11,
} bitmma_status;

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

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BITMMA_H */
