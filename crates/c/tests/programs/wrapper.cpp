// bitmma.hpp: units that close themselves, spans, exceptions.
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "bitmma.hpp"

static int passed, failed;

static void report(bool right, int line, const char *what) {
    right ? passed++ : failed++;
    if (!right) std::printf("line %d: %s\n", line, what);
}
#define CHECK(condition) report(condition, __LINE__, #condition)

int main() {
    bitmma::unit unit{"h100", "mma.m16n8k16.f32.f16.f16.f32"};
    const bitmma_signature is = unit.signature();
    CHECK(is.m == 16 && is.n == 8 && is.k == 16 && std::string(is.d.name) == "f32");
    std::vector<std::uint16_t> a(256), b(128);
    const std::array<double, 1> half{0.5};
    std::array<std::uint16_t, 1> code{};
    bitmma::convert("f64", half, "f16", code);
    CHECK(code[0] == 0x3800);
    a.assign(256, code[0]), b.assign(128, 0x3c00);
    std::array<float, 128> c{}, d{};
    c.fill(1);
    unit.multiply({.a = bitmma::in(a), .b = bitmma::in(b), .c = bitmma::in(c), .scale_a = {}, .scale_b = {}}, bitmma::out(d));
    CHECK(d[0] == 9 && d[127] == 9);
    CHECK(unit.dot({bitmma::in(a), bitmma::in(b, 8), {}, {}, {}}) == 0x41000000);
    const std::string text = unit.explain({bitmma::in(a), bitmma::in(b, 8), {}, {}, {}});
    CHECK(text.find("e_max") != std::string::npos && text.back() == '}');

    std::vector<float> product(9);
    unit.gemm(3, 3, 5, {bitmma::in(std::span(a).first(15)), bitmma::in(std::span(b).first(15)), {}, {}, {}}, bitmma::out(product));
    CHECK(product[8] == 2.5f);
    try {
        unit.gemm(3, 3, 6, {bitmma::in(std::span(a).first(15)), bitmma::in(b), {}, {}, {}}, bitmma::out(product));
        CHECK(false);
    } catch (const bitmma::error &error) {
        CHECK(error.status == BITMMA_SIZE && std::string(error.what()).find("15 codes") != std::string::npos);
    }
    try {
        bitmma::convert("f64", std::array<float, 1>{1}, "f16", code);
        CHECK(false);
    } catch (const std::invalid_argument &) {
        CHECK(true);
    }

    // one unit, several threads, each with errors of its own
    std::vector<std::jthread> threads;
    std::array<int, 4> right{};
    for (int at = 0; at < 4; at++) {
        threads.emplace_back([&unit, &right, at] {
            std::vector<std::uint16_t> a(256, 0x3c00), b(128, 0x3c00);
            std::vector<float> d(128);
            for (int turn = 0; turn < 50; turn++) {
                unit.multiply({bitmma::in(a), bitmma::in(b), {}, {}, {}}, bitmma::out(d));
                const bool wrong = bitmma_open("nowhere", std::to_string(at).c_str(), nullptr, nullptr) == BITMMA_OK;
                right[at] += d[64] == 16 && !wrong;
            }
        });
    }
    threads.clear();
    for (int count : right) CHECK(count == 50);
    bitmma::unit moved = std::move(unit);
    CHECK(moved.get() != nullptr && unit.get() == nullptr);
    // kernels, by the functions of bitmma.h
    bitmma_kernel *kernel = nullptr;
    bitmma::check(bitmma_open_kernel(
        ".version 8.0\n.target sm_80\n.visible .entry one(.param .u64 p)\n.reqntid 1\n{ .reg .b64 %d1; .reg .b32 %r1;\n"
        "ld.param.u64 %d1, [p]; mov.b32 %r1, 7; st.global.u32 [%d1], %r1; ret; }",
        nullptr, nullptr, nullptr, &kernel));
    std::array<std::uint32_t, 2> words{1, 2};
    bitmma_buffer buffer{words.data(), sizeof words};
    bitmma_argument second{};
    second.kind = BITMMA_POINTER, second.offset = 4;
    bitmma_launch_options options{};
    options.grid[0] = options.grid[1] = options.grid[2] = 1;
    bitmma::check(bitmma_launch(kernel, &options, &second, 1, &buffer, 1));
    bitmma_close_kernel(kernel);
    CHECK(words[0] == 1 && words[1] == 7);
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
