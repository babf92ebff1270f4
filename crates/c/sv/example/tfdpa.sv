// D = A.B + C: four products of FP16 and an FP32 accumulator, as a truncated fused dot-product-add (T-FDPA).
//
// Every term is shifted to the largest exponent, cut to F bits after the point (toward zero), added, and rounded toward
// zero to FP32. A zero has the exponent E_ZERO. BUG = 1 cuts toward minus infinity, as a shift of a signed number does.
module tfdpa #(
    parameter int F = 24,       // 1 to 38
    parameter int E_ZERO = -133,
    parameter int BUG = 0
) (
    input  logic [3:0][15:0] a,
    input  logic [3:0][15:0] b,
    input  logic [31:0]      c,
    output logic [31:0]      d
);
  localparam logic [31:0] NAN = 32'h7fff_ffff;

  // terms 0 to 3 are products, term 4 is C
  logic               sign[5];
  int                 exponent[5];
  logic        [63:0] magnitude[5];  // in units of 2^(exponent - F)
  logic               nan, plus, minus;

  int                 e_max, distance, top, place;
  logic signed [63:0] term, sum;
  logic        [63:0] size;

  function automatic logic is_nan(logic [15:0] x);
    return x[14:10] == 31 && x[9:0] != 0;
  endfunction
  function automatic logic is_infinite(logic [15:0] x);
    return x[14:0] == 15'h7c00;
  endfunction
  function automatic logic is_zero(logic [15:0] x);
    return x[14:0] == 0;
  endfunction
  // subnormal numbers have the exponent of the smallest normal one
  function automatic int power(logic [15:0] x);
    return (x[14:10] == 0 ? 1 : int'(x[14:10])) - 15;
  endfunction
  function automatic logic [63:0] significand(logic [15:0] x);
    return 64'({x[14:10] != 0, x[9:0]});
  endfunction

  always_comb begin
    nan = c[30:23] == 255 && c[22:0] != 0;
    plus = c == 32'h7f80_0000;
    minus = c == 32'hff80_0000;
    for (int k = 0; k < 4; k++) begin
      sign[k] = a[k][15] ^ b[k][15];
      if (is_nan(a[k]) || is_nan(b[k])) nan = 1;
      else if (is_infinite(a[k]) || is_infinite(b[k])) begin
        if (is_zero(a[k]) || is_zero(b[k])) nan = 1;
        else if (sign[k]) minus = 1;
        else plus = 1;
      end
      exponent[k] = is_zero(a[k]) || is_zero(b[k]) ? E_ZERO : power(a[k]) + power(b[k]);
      magnitude[k] = ((significand(a[k]) * significand(b[k])) << F);  // 20 bits below the point still
    end
    sign[4] = c[31];
    exponent[4] = c[30:0] == 0 ? E_ZERO : (c[30:23] == 0 ? 1 : int'(c[30:23])) - 127;
    magnitude[4] = 64'({c[30:23] != 0, c[22:0]}) << F;  // 23 bits below the point

    e_max = exponent[0];
    for (int k = 1; k < 5; k++) if (exponent[k] > e_max) e_max = exponent[k];

    sum = 0;
    for (int k = 0; k < 5; k++) begin
      distance = e_max - exponent[k] + (k == 4 ? 23 : 20);
      if (distance > 63) distance = 63;
      if (BUG != 0) begin
        term = sign[k] ? -$signed(magnitude[k]) : $signed(magnitude[k]);
        term = term >>> distance;
      end else begin
        term = $signed(magnitude[k] >> distance);
        if (sign[k]) term = -term;
      end
      sum = sum + term;
    end

    size = sum < 0 ? -sum : sum;  // in units of 2^(e_max - F)
    top = 0;
    for (int bit_of = 0; bit_of < 64; bit_of++) if (size[bit_of]) top = bit_of;
    place = e_max - F + top;  // the exponent of the result
    d = 0;
    if (nan || (plus && minus)) d = NAN;
    else if (plus || minus) d = {minus, 31'h7f80_0000};
    else if (size != 0) begin
      if (place > 127) d = {sum < 0, 31'h7f80_0000};
      else if (place >= -126) begin
        size = top > 23 ? size >> (top - 23) : size << (23 - top);
        d = {sum < 0, 8'(place + 127), size[22:0]};
      end else begin
        distance = -149 - (e_max - F);
        size = distance >= 0 ? (distance > 63 ? 64'd0 : size >> distance) : size << -distance;
        if (size != 0) d = {sum < 0, 8'd0, size[22:0]};
      end
    end
  end
endmodule
