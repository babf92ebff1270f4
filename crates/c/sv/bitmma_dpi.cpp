// What bitmma.sv imports, over bitmma.h. Little-endian machines only.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <svdpi.h>

#include "bitmma.h"

namespace {

// Codes in as many bytes as their format takes.
using bytes = std::vector<char>;

bytes codes_of(svOpenArrayHandle array, unsigned width) {
    const int count = svSize(array, 1), low = svLow(array, 1);
    bytes codes(static_cast<std::size_t>(count) * width);
    for (int at = 0; at < count; at++) {
        std::memcpy(&codes[static_cast<std::size_t>(at) * width], svGetArrElemPtr1(array, low + at), width);
    }
    return codes;
}

bitmma_input input(const bytes &codes, unsigned width) {
    return {codes.empty() ? nullptr : codes.data(), codes.size() / (width ? width : 1), 0, 0};
}

// What goes into a product, in memory of our own.
struct given {
    bitmma_status status;
    bitmma_signature is;
    bytes a, b, c, scale_a, scale_b;

    given(const void *unit, svOpenArrayHandle of_a, svOpenArrayHandle of_b, svOpenArrayHandle of_scale_a,
          svOpenArrayHandle of_scale_b)
        : status(bitmma_describe(static_cast<const bitmma_unit *>(unit), &is)) {
        if (status != BITMMA_OK) return;
        a = codes_of(of_a, is.a.bytes);
        b = codes_of(of_b, is.b.bytes);
        if (is.scale.bytes) { // others have no use for the two arrays
            scale_a = codes_of(of_scale_a, is.scale.bytes);
            scale_b = codes_of(of_scale_b, is.scale.bytes);
        }
    }

    bitmma_operands operands() const {
        return {input(a, is.a.bytes), input(b, is.b.bytes), input(c, is.c.bytes),
                input(scale_a, is.scale.bytes), input(scale_b, is.scale.bytes)};
    }

    void one_c(std::uint64_t code) {
        c.resize(status == BITMMA_OK ? is.c.bytes : 0);
        if (!c.empty()) std::memcpy(c.data(), &code, c.size());
    }
};

const bitmma_unit *opened(const void *unit) { return static_cast<const bitmma_unit *>(unit); }

} // namespace

extern "C" {

int bitmma_sv_open(const char *architecture, const char *instruction, void **unit) {
    bitmma_unit *answer = nullptr;
    const bitmma_status status = bitmma_open(architecture, instruction, nullptr, &answer);
    *unit = answer;
    return status;
}

int bitmma_sv_open_model(const char *toml, int m, int n, int k, void **unit) {
    bitmma_unit *answer = nullptr;
    if (m < 0 || n < 0 || k < 0) m = 0; // which is refused, with a text
    const bitmma_status status = bitmma_open_model(toml, m, n, k, &answer);
    *unit = answer;
    return status;
}

void bitmma_sv_close(void *unit) { bitmma_close(static_cast<bitmma_unit *>(unit)); }

int bitmma_sv_describe(void *unit, int *fields) {
    bitmma_signature is;
    const bitmma_status status = bitmma_describe(opened(unit), &is);
    if (status != BITMMA_OK) return status;
    const std::size_t all[10] = {is.m,      is.n,      is.k,      is.blocks, is.scale_size,
                                 is.a.bits, is.b.bits, is.c.bits, is.d.bits, is.scale.bits};
    for (int at = 0; at < 10; at++) fields[at] = static_cast<int>(all[at]);
    return BITMMA_OK;
}

int bitmma_sv_dot(void *unit, svOpenArrayHandle a, svOpenArrayHandle b, std::uint64_t c,
                  svOpenArrayHandle scale_a, svOpenArrayHandle scale_b, std::uint64_t *d) {
    given all(unit, a, b, scale_a, scale_b);
    if (all.status != BITMMA_OK) return all.status;
    all.one_c(c);
    const bitmma_operands operands = all.operands();
    return bitmma_dot(opened(unit), &operands, d);
}

int bitmma_sv_multiply(void *unit, svOpenArrayHandle a, svOpenArrayHandle b, svOpenArrayHandle c,
                       svOpenArrayHandle scale_a, svOpenArrayHandle scale_b, svOpenArrayHandle d) {
    given all(unit, a, b, scale_a, scale_b);
    if (all.status != BITMMA_OK) return all.status;
    all.c = codes_of(c, all.is.c.bytes);
    const std::size_t count = svSize(d, 1), width = all.is.d.bytes;
    bytes answer(count * width);
    const bitmma_operands operands = all.operands();
    const bitmma_output out = {answer.data(), count, 0, 0};
    const bitmma_status status = bitmma_multiply(opened(unit), &operands, 1, &out);
    for (std::size_t at = 0; status == BITMMA_OK && at < count; at++) {
        std::uint64_t code = 0;
        std::memcpy(&code, &answer[at * width], width);
        std::memcpy(svGetArrElemPtr1(d, svLow(d, 1) + static_cast<int>(at)), &code, sizeof code);
    }
    return status;
}

const char *bitmma_sv_explain(void *unit, svOpenArrayHandle a, svOpenArrayHandle b, std::uint64_t c,
                              svOpenArrayHandle scale_a, svOpenArrayHandle scale_b) {
    thread_local std::string text;
    text.clear();
    given all(unit, a, b, scale_a, scale_b);
    if (all.status != BITMMA_OK) return "";
    all.one_c(c);
    const bitmma_operands operands = all.operands();
    std::size_t length = 0;
    if (bitmma_explain(opened(unit), &operands, nullptr, 0, &length) != BITMMA_BUFFER) return "";
    text.resize(length + 1);
    if (bitmma_explain(opened(unit), &operands, &text[0], text.size(), nullptr) != BITMMA_OK) text.clear();
    return text.c_str();
}

} // extern "C"
