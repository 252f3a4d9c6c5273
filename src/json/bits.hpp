#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace crab::json {

/// A set of small numbers below a size fixed at the start; up to 128 of them need no memory of
/// their own.
class Bits {
public:
    explicit Bits(std::size_t size) : size_(size), words_((size + 63) / 64) {
        if (words_ > kInline) heap_ = std::make_unique<std::uint64_t[]>(words_);
    }

    std::size_t size() const { return size_; }
    void set(std::size_t bit) { data()[bit / 64] |= std::uint64_t{1} << (bit % 64); }
    bool test(std::size_t bit) const { return (data()[bit / 64] >> (bit % 64) & 1) != 0; }
    /// `other` has the same size.
    void merge(const Bits& other) {
        for (std::size_t word = 0; word < words_; ++word) data()[word] |= other.data()[word];
    }
    /// Whether all of 0 … count-1 are in the set.
    bool has_first(std::size_t count) const {
        for (std::size_t word = 0; word < count / 64; ++word) {
            if (~data()[word] != 0) return false;
        }
        const std::uint64_t rest = (std::uint64_t{1} << (count % 64)) - 1;
        return count % 64 == 0 || (data()[count / 64] & rest) == rest;
    }

private:
    static constexpr std::size_t kInline = 2;
    std::uint64_t* data() { return heap_ ? heap_.get() : inline_; }
    const std::uint64_t* data() const { return heap_ ? heap_.get() : inline_; }

    std::size_t size_;
    std::size_t words_;
    std::uint64_t inline_[kInline]{};
    std::unique_ptr<std::uint64_t[]> heap_;
};

}  // namespace crab::json
