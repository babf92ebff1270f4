// What a performance simulator does with a matrix instruction of an MI300X: decode the 64 bits of an MFMA, gather its
// operands from the registers of a wave, ask bitmma for D, write D back.
//
//     g++ -std=c++20 examples/c/mfma.cpp $(pkg-config --cflags --libs bitmma) -o mfma && ./mfma
//
// In SystemC the same lines go into the method of the matrix unit: bitmma has no notion of time, the model says when D is ready.
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bitmma.hpp"

constexpr int LANES = 64;

// The vector registers of one wave: 512 of 32 bits in each lane, accumulation registers from 256 on.
using registers = std::array<std::array<std::uint32_t, LANES>, 512>;

// The fields of AMD's encoding VOP3P-MAI that say what is computed; opcodes are those of gfx90a and gfx942.
struct mfma {
    unsigned op, d, a, b, c;
    bool operator==(const mfma &) const = default;
};

constexpr std::optional<mfma> decode(std::uint64_t word) {
    const auto field = [word](int low, int bits) { return static_cast<unsigned>(word >> low & ((1u << bits) - 1)); };
    if (field(23, 9) != 0b110100111) return std::nullopt; // another encoding
    // a source is a vector register from 256 on; ACC, ACC_CD: it is an accumulation register
    const unsigned acc = field(59, 2), acc_cd = field(15, 1), a = field(32, 9), b = field(41, 9), c = field(50, 9);
    if (a < 256 || b < 256 || c < 256) return std::nullopt; // constants are left to the reader
    return mfma{field(16, 7), field(0, 8) + 256 * acc_cd, a - 256 + 256 * (acc & 1), b - 256 + 256 * (acc >> 1),
                c - 256 + 256 * acc_cd};
}

// What LLVM's assembler makes for gfx942 (llvm/test/MC/AMDGPU/mai-gfx942.s; for gfx90a the same words, mai-gfx90a.s).
static_assert(decode(0x044a'0500'd3cc'0000) == mfma{76, 0, 0, 2, 18}); // v_mfma_f32_32x32x8_f16 v[0:15], v[0:1], v[2:3], v[18:33]
static_assert(decode(0x044a'0500'd3cc'8000) == mfma{76, 256, 0, 2, 274}); // … a[0:15], v[0:1], v[2:3], a[18:33]
static_assert(decode(0x040a'0500'd3cd'0000) == mfma{77, 0, 0, 2, 2}); // v_mfma_f32_16x16x16_f16 v[0:3], v[0:1], v[2:3], v[2:5]
static_assert(decode(0x040a'0500'd3cd'8000) == mfma{77, 256, 0, 2, 258}); // … a[0:3], v[0:1], v[2:3], a[2:5]

class matrix_unit {
public:
    // D = A·B + C in the registers of the wave; false for an instruction that is not in the table.
    bool execute(const mfma &instruction, registers &wave) {
        const auto found = table.find(instruction.op);
        if (found == table.end()) return false;
        const bitmma::unit &unit = found->second;
        const bitmma_signature is = unit.signature();
        std::vector<std::uint16_t> a(is.m * is.k), b(is.k * is.n);
        std::vector<std::uint32_t> c(is.m * is.n), d(is.m * is.n);
        // a lane holds four elements of FP16 along K: lanes go through the rows (columns), then along K
        for (std::size_t k = 0; k < is.k; k++) {
            const std::size_t pair = k % 4 / 2, half = k % 2 * 16;
            for (std::size_t i = 0; i < is.m; i++)
                a[i * is.k + k] = static_cast<std::uint16_t>(wave[instruction.a + pair][i + is.m * (k / 4)] >> half);
            for (std::size_t j = 0; j < is.n; j++)
                b[k * is.n + j] = static_cast<std::uint16_t>(wave[instruction.b + pair][j + is.n * (k / 4)] >> half);
        }
        // four rows follow each other in four registers: lanes go through the columns, then the groups of four rows
        const std::size_t groups = LANES / is.n;
        const auto place = [&](std::size_t i, std::size_t j) {
            return std::pair{i / 4 / groups * 4 + i % 4, j + is.n * (i / 4 % groups)};
        };
        for (std::size_t i = 0; i < is.m; i++)
            for (std::size_t j = 0; j < is.n; j++) {
                const auto [at, lane] = place(i, j);
                c[i * is.n + j] = wave[instruction.c + at][lane];
            }
        unit.multiply({bitmma::in(a), bitmma::in(b), bitmma::in(c), {}, {}}, bitmma::out(d));
        for (std::size_t i = 0; i < is.m; i++)
            for (std::size_t j = 0; j < is.n; j++) {
                const auto [at, lane] = place(i, j);
                wave[instruction.d + at][lane] = d[i * is.n + j];
            }
        return true;
    }

private:
    static bitmma::unit open(const char *name) { return {"mi300x", name}; }
    std::map<unsigned, bitmma::unit> table = make();
    static std::map<unsigned, bitmma::unit> make() {
        std::map<unsigned, bitmma::unit> all;
        all.emplace(76, open("v_mfma_f32_32x32x8_f16"));
        all.emplace(77, open("v_mfma_f32_16x16x16_f16"));
        return all;
    }
};

int main() {
    static registers wave{};
    // v_mfma_f32_16x16x16_f16 v[8:11], v[0:1], v[2:3], v[4:7]
    const std::uint64_t word = 0x0412'0500'd3cd'0008;
    const std::optional<mfma> instruction = decode(word);
    if (!instruction || instruction->op != 77 || instruction->d != 8 || instruction->b != 2) return std::puts("not decoded"), 1;
    // A[i][k] = i, B[k][j] = 2 if k = j, C = 0.5, in FP16 codes of small integers
    const auto half = [](double value) {
        std::array<std::uint16_t, 1> code;
        bitmma::convert("f64", std::array{value}, "f16", code);
        return static_cast<std::uint32_t>(code[0]);
    };
    for (int lane = 0; lane < LANES; lane++)
        for (int element = 0; element < 4; element++) {
            const int line = lane % 16, k = 4 * (lane / 16) + element;
            wave[0 + element / 2][lane] |= half(line) << 16 * (element % 2);
            wave[2 + element / 2][lane] |= half(line == k ? 2 : 0) << 16 * (element % 2);
            wave[4 + element][lane] = 0x3f000000;
        }
    matrix_unit unit;
    if (!unit.execute(*instruction, wave)) return std::puts("not executed"), 1;
    // D[i][j] = 2i + 0.5: row i is in register 8 + i % 4, lanes 16 · (i / 4) on
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            std::array<double, 1> value;
            bitmma::convert("f32", std::array{wave[8 + i % 4][j + 16 * (i / 4)]}, "f64", value);
            if (value[0] != 2 * i + 0.5) return std::printf("D[%d][%d] is %g\n", i, j, value[0]), 1;
        }
    std::puts("v_mfma_f32_16x16x16_f16: D is right in all 64 lanes");
    return 0;
}
