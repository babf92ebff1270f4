// bitmma for SystemVerilog: reference answers by DPI-C. Compile this file, bitmma_dpi.cpp and libbitmma into the simulation.
//
// Codes are the low bits of a longint. Functions return 0, or a status of bitmma.h; bitmma_last_error() says what is wrong.
package bitmma;

  // An instruction: bitmma_sv_open("h100", "mma.m16n8k16.f32.f16.f16.f32", unit).
  import "DPI-C" function int bitmma_sv_open(
      input string architecture, input string instruction, output chandle unit);

  // A model, the text of a file as `bitmma show --toml` prints it, of m x n x k.
  import "DPI-C" function int bitmma_sv_open_model(
      input string toml, input int m, input int n, input int k, output chandle unit);

  import "DPI-C" function void bitmma_sv_close(input chandle unit);

  // M, N, K, blocks, elements that share a scale factor, bits of codes of A, B, C, D and scale factors.
  import "DPI-C" function int bitmma_sv_describe(input chandle unit, output int fields[10]);

  // One element of D: K codes of A and of B, one of C. Scale factors: K / block codes each; a unit without them reads
  // neither array.
  import "DPI-C" function int bitmma_sv_dot(
      input chandle unit, input longint unsigned a[], input longint unsigned b[], input longint unsigned c,
      input longint unsigned scale_a[], input longint unsigned scale_b[], output longint unsigned d);

  // One instruction: matrices row-major, block after block.
  import "DPI-C" function int bitmma_sv_multiply(
      input chandle unit, input longint unsigned a[], input longint unsigned b[], input longint unsigned c[],
      input longint unsigned scale_a[], input longint unsigned scale_b[], inout longint unsigned d[]);

  // Every step of one element of D as JSON; empty where it fails. The text is good until the next call.
  import "DPI-C" function string bitmma_sv_explain(
      input chandle unit, input longint unsigned a[], input longint unsigned b[], input longint unsigned c,
      input longint unsigned scale_a[], input longint unsigned scale_b[]);

  import "DPI-C" function string bitmma_last_error();
  import "DPI-C" function string bitmma_version();

endpackage
