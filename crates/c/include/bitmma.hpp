// bitmma for C++20: bitmma.h with units that close themselves, spans in place of addresses, and exceptions.
//
//     bitmma::unit unit{"h100", "mma.m16n8k16.f32.f16.f16.f32"};
//     std::vector<std::uint16_t> a(256, 0x3c00), b(128, 0x3c00);
//     std::vector<std::uint32_t> d(128);
//     unit.multiply({.a = bitmma::in(a), .b = bitmma::in(b)}, bitmma::out(d));
#ifndef BITMMA_HPP
#define BITMMA_HPP

#include <memory>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "bitmma.h"

namespace bitmma {

/// A call that failed: its status, and the text of bitmma_last_error.
class error : public std::runtime_error {
public:
    explicit error(bitmma_status status) : std::runtime_error(bitmma_last_error()), status(status) {}
    bitmma_status status;
};

inline void check(bitmma_status status) {
    if (status != BITMMA_OK) throw error(status);
}

/// A type that codes have in memory: 1, 2, 4 or 8 bytes that may be copied.
template <typename T>
concept code = std::is_trivially_copyable_v<T> &&
               (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);

/// Anything contiguous: a vector, an array, a span.
template <typename R>
concept codes = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                code<std::ranges::range_value_t<R>>;

/// Codes to be read, rows `leading` and matrices `stride` codes apart; 0: next to each other.
template <codes R>
bitmma_input in(const R &range, std::size_t leading = 0, std::size_t stride = 0) {
    return {std::ranges::data(range), std::ranges::size(range), leading, stride};
}

/// Room for codes.
template <codes R>
bitmma_output out(R &&range, std::size_t leading = 0, std::size_t stride = 0) {
    return {std::ranges::data(range), std::ranges::size(range), leading, stride};
}

/// An instruction or a model. Any number of threads may use it.
class unit {
public:
    /// See bitmma_open.
    unit(const std::string &architecture, const std::string &instruction,
         const std::string &revision = "hardware") {
        bitmma_unit *opened = nullptr;
        check(bitmma_open(architecture.c_str(), instruction.c_str(), revision.c_str(), &opened));
        handle.reset(opened);
    }

    /// A model's text as an instruction of M×N×K: see bitmma_open_model.
    static unit model(const std::string &toml, std::size_t m, std::size_t n, std::size_t k) {
        bitmma_unit *opened = nullptr;
        check(bitmma_open_model(toml.c_str(), m, n, k, &opened));
        return unit(opened);
    }

    /// What it takes and gives.
    bitmma_signature signature() const {
        bitmma_signature answer;
        check(bitmma_describe(get(), &answer));
        return answer;
    }

    /// D = A·B + C by `count` instructions.
    void multiply(const bitmma_operands &operands, bitmma_output d, std::size_t count = 1) const {
        check(bitmma_multiply(get(), &operands, count, &d));
    }

    /// One element of D.
    std::uint64_t dot(const bitmma_operands &operands) const {
        std::uint64_t d = 0;
        check(bitmma_dot(get(), &operands, &d));
        return d;
    }

    /// D = alpha·A·B + beta·C of any size.
    void gemm(std::size_t m, std::size_t n, std::size_t k, const bitmma_operands &operands,
              bitmma_output d, const bitmma_gemm_options &options = {}) const {
        check(bitmma_gemm(get(), m, n, k, &operands, &options, &d));
    }

    /// Every step of one element of D, as JSON.
    std::string explain(const bitmma_operands &operands) const {
        std::size_t length = 0;
        const bitmma_status status = bitmma_explain(get(), &operands, nullptr, 0, &length);
        if (status != BITMMA_BUFFER) check(status);
        std::string text(length + 1, '\0');
        check(bitmma_explain(get(), &operands, text.data(), text.size(), &length));
        text.resize(length);
        return text;
    }

    /// The handle, for the functions of bitmma.h.
    const bitmma_unit *get() const { return handle.get(); }

private:
    struct close {
        void operator()(bitmma_unit *opened) const { bitmma_close(opened); }
    };
    explicit unit(bitmma_unit *opened) : handle(opened) {}
    std::unique_ptr<bitmma_unit, close> handle;
};

/// An operand B (K×N) that is packed once, for any number of products: see bitmma_prepare.
class prepared {
public:
    /// For a unit, which may be gone before it; on all threads, unless a number is given.
    prepared(const unit &of, std::size_t n, std::size_t k, bitmma_input b, bitmma_input scale_b = {}, std::size_t threads = 0) {
        bitmma_prepared *made = nullptr;
        check(bitmma_prepare(of.get(), n, k, &b, &scale_b, threads, &made));
        handle.reset(made);
    }

    /// D = alpha·A·B + beta·C of M rows; of `operands` B is left out.
    void multiply(std::size_t m, const bitmma_operands &operands, bitmma_output d, const bitmma_gemm_options &options = {}) const {
        check(bitmma_multiply_prepared(handle.get(), m, &operands, &options, &d));
    }

private:
    struct release {
        void operator()(bitmma_prepared *made) const { bitmma_free_prepared(made); }
    };
    std::unique_ptr<bitmma_prepared, release> handle;
};

/// Codes of one format into codes of another: see bitmma_convert. `to` has at least the length of `from`.
template <codes From, codes To>
void convert(const std::string &from_format, const From &from, const std::string &to_format, To &&to,
             const std::string &rounding = "RNE", const std::string &overflow = "ieee") {
    if (std::ranges::size(to) < std::ranges::size(from)) {
        throw std::length_error("bitmma::convert: there is room for fewer codes than are given");
    }
    bitmma_format source, target;
    check(bitmma_find_format(from_format.c_str(), &source));
    check(bitmma_find_format(to_format.c_str(), &target));
    if (source.bytes != sizeof(*std::ranges::data(from)) || target.bytes != sizeof(*std::ranges::data(to))) {
        throw std::invalid_argument("bitmma::convert: codes of " + from_format + " have " +
                                    std::to_string(source.bytes) + " bytes, codes of " + to_format + " " +
                                    std::to_string(target.bytes));
    }
    check(bitmma_convert(from_format.c_str(), std::ranges::data(from), to_format.c_str(), rounding.c_str(),
                         overflow.c_str(), std::ranges::data(to), std::ranges::size(from)));
}

} // namespace bitmma

#endif // BITMMA_HPP
