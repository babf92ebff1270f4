// Holds tfdpa.sv against bitmma: directed cases, then random ones. Ends with an error at the first that differs, and prints
// the command that explains it, step by step.
//
//     +cases=1000000  +seed=1  +model=FILE (TOML)  +bug (the datapath with the planted bug)
module testbench;
  import bitmma::*;

  parameter int F = 24;

  logic [3:0][15:0] a, b;
  logic [31:0] c, d, of_right, of_wrong;
  logic bug;
  tfdpa #(.F(F)) right (.a, .b, .c, .d(of_right));
  tfdpa #(.F(F), .BUG(1)) wrong (.a, .b, .c, .d(of_wrong));
  assign d = bug ? of_wrong : of_right;

  chandle unit;
  longint unsigned of_a[4], of_b[4], none[1] = '{0}, expected;  // a unit without scale factors reads none
  longint cases, checked;
  logic [31:0] some;
  int seed, file, length;
  string model, toml, line;

  // FP16 and FP32 codes at the ends of their ranges
  localparam logic [15:0] HALVES[16] = '{
      16'h0000, 16'h8000, 16'h0001, 16'h83ff, 16'h0400, 16'h8400, 16'h3c00, 16'hbc00,
      16'h3c01, 16'h7bff, 16'hfbff, 16'h7c00, 16'hfc00, 16'h7e00, 16'h3bff, 16'h1400};
  localparam logic [31:0] SINGLES[16] = '{
      32'h0000_0000, 32'h8000_0000, 32'h0000_0001, 32'h807f_ffff, 32'h0080_0000, 32'h3f80_0000, 32'hbf80_0000, 32'h4b00_0000,
      32'hcb00_0001, 32'h7f7f_ffff, 32'hff7f_ffff, 32'h7f80_0000, 32'hff80_0000, 32'h7fc0_0000, 32'h3300_0000, 32'hb280_0001};

  function automatic string shown(logic [3:0][15:0] x);
    return $sformatf("0x%04x 0x%04x 0x%04x 0x%04x", x[0], x[1], x[2], x[3]);
  endfunction

  task automatic check();
    #1;
    for (int k = 0; k < 4; k++) begin
      of_a[k] = 64'(a[k]);
      of_b[k] = 64'(b[k]);
    end
    if (bitmma_sv_dot(unit, of_a, of_b, 64'(c), none, none, expected) != 0) $fatal(1, "%s", bitmma_last_error());
    checked++;
    if (d !== expected[31:0]) begin
      $display("DIFFERS after %0d cases: tfdpa answers 0x%08x, bitmma 0x%08x", checked, d, expected[31:0]);
      line = $sformatf("explain --model %s -k 4 -a '%s' -b '%s' -c 0x%08x", model, shown(a), shown(b), c);
      $display("bitmma %s", line);
      $fatal(1, "the datapath differs");
    end
  endtask

  // a number near 2^shift
  function automatic logic [15:0] near(int shift);
    logic [31:0] bits = $urandom();
    return {bits[15], 5'(15 + shift), bits[9:0]};
  endfunction

  // a number within a factor of 64 of one
  function automatic logic [15:0] moderate();
    logic [31:0] bits = $urandom();
    return near(int'(bits % 13) - 6);
  endfunction

  initial begin
    cases = 1000000;
    seed = 1;
    model = "tfdpa.toml";
    void'($value$plusargs("cases=%d", cases));
    void'($value$plusargs("seed=%d", seed));
    void'($value$plusargs("model=%s", model));
    bug = $test$plusargs("bug") != 0;
    void'($urandom(seed));
    file = $fopen(model, "r");
    if (file == 0) $fatal(1, "%s cannot be read", model);
    toml = "";
    length = $fgets(line, file);
    while (length != 0) begin
      toml = {toml, line};
      length = $fgets(line, file);
    end
    $fclose(file);
    if (bitmma_sv_open_model(toml, 1, 1, 4, unit) != 0) $fatal(1, "%s", bitmma_last_error());

    // directed: one product of every pair of notable codes, with every notable C, alone and beside another
    for (int x = 0; x < 16; x++)
      for (int y = 0; y < 16; y++)
        for (int z = 0; z < 16; z++) begin
          a = '0;
          b = '0;
          c = SINGLES[z];
          a[0] = HALVES[x];
          b[0] = HALVES[y];
          check();
          a[3] = HALVES[y] ^ 16'h8000;
          b[3] = 16'h3c01;
          check();
        end
    // directed: one term, and another of either sign further and further below it
    for (int below = 0; below < 60; below++)
      for (int signs = 0; signs < 4; signs++) begin
        a = '0;
        b = '0;
        a[1] = {signs[0], 15'h3c00};
        b[1] = 16'h3c00;
        c = {signs[1], 8'(127 - below), 23'h55_5555};
        check();
        c = {signs[1], 8'(127 + below), 23'h2a_aaaa};
        check();
      end
    // random: all bits; numbers near one; numbers that cancel
    while (checked < cases) begin
      c = $urandom();
      for (int k = 0; k < 4; k++) begin
        some = $urandom();
        case (checked % 3)
          0: {a[k], b[k]} = some;
          1: begin
            a[k] = moderate();
            b[k] = moderate();
          end
          default: begin
            a[k] = near(3);
            b[k] = near(2);
            if (k % 2 == 1) begin
              a[k] = a[k-1] ^ {1'b1, 14'd0, some[0]};
              b[k] = b[k-1];
            end
          end
        endcase
      end
      some = $urandom();
      if (checked % 3 != 0) c[30:23] = 8'(97 + some % 41);
      check();
    end
    bitmma_sv_close(unit);
    $display("%0d cases: tfdpa and bitmma agree in every bit", checked);
    $finish;
  end
endmodule
