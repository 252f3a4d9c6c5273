#include "store/memory/memory_order.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

namespace crab::store {
namespace {

/// The usual constants of BM25 (Robertson and Zaragoza, 2009, section 3.2).
constexpr double kSaturation = 1.2, kLengthWeight = 0.75;

void put(std::string& bytes, std::uint64_t number) {
    for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xff);
}

std::uint64_t take(std::string_view& bytes) {
    std::uint64_t number = 0;
    for (const char byte : bytes.substr(0, 8))
        number = number << 8 | static_cast<unsigned char>(byte);
    bytes.remove_prefix(8);
    return number;
}

}  // namespace

std::int64_t memory_score(std::span<const std::uint32_t> counts, std::span<const double> weights,
                          double words) {
    const double damping = kSaturation * (1 - kLengthWeight + kLengthWeight * words / weights[0]);
    double score = 0;
    for (std::size_t i = 0; i < counts.size(); ++i)
        score += weights[i + 1] * counts[i] * (kSaturation + 1) / (counts[i] + damping);
    return std::llround(score * 1e6);
}

double memory_mean_words(std::int64_t words, std::int64_t entries) {
    return std::max(
        static_cast<double>(words) / static_cast<double>(std::max<std::int64_t>(entries, 1)), 1.0);
}

double memory_phrase_weight(double entries, double found) {
    return std::log1p((std::max(entries - found, 0.0) + 0.5) / (found + 0.5));
}

bool MemoryMark::precedes(const MemoryMark& other, memory::MemoryOrder order) const {
    const auto mine = std::tie(score, occurred_ms, row),
               others = std::tie(other.score, other.occurred_ms, other.row);
    return order == memory::MemoryOrder::kOldest ? mine < others : mine > others;
}

std::string MemoryPosition::to_bytes() const {
    std::string bytes;
    for (const std::int64_t number : {last_row, mark.score, mark.occurred_ms, mark.row})
        put(bytes, static_cast<std::uint64_t>(number));
    for (const double weight : weights) put(bytes, std::bit_cast<std::uint64_t>(weight));
    return bytes;
}

Result<MemoryPosition> MemoryPosition::parse(std::string_view bytes, std::size_t weights) {
    constexpr std::size_t kNumbers = 4;
    if (bytes.size() != 8 * (kNumbers + weights))
        return fail(ErrorCode::kInvalidArgs,
                    "the cursor is not of this query; ask again without it");
    MemoryPosition position;
    position.first_page = false;
    for (std::int64_t* number : {&position.last_row, &position.mark.score,
                                 &position.mark.occurred_ms, &position.mark.row}) {
        *number = static_cast<std::int64_t>(take(bytes));
    }
    while (!bytes.empty()) {
        position.weights.push_back(std::bit_cast<double>(take(bytes)));
        if (!std::isfinite(position.weights.back()))
            return fail(ErrorCode::kInvalidArgs, "the cursor is damaged; ask again without it");
    }
    return position;
}

void MemoryBest::add(const MemoryMark& mark) {
    const auto precedes = [&](const MemoryMark& left, const MemoryMark& right) {
        return left.precedes(right, order_);
    };
    if (is_full()) {
        if (!mark.precedes(best_.front(), order_)) return;
        std::ranges::pop_heap(best_, precedes);
        best_.pop_back();
    }
    best_.push_back(mark);
    std::ranges::push_heap(best_, precedes);
}

std::vector<MemoryMark> MemoryBest::finish() {
    std::ranges::sort_heap(best_, [&](const MemoryMark& left, const MemoryMark& right) {
        return left.precedes(right, order_);
    });
    return std::move(best_);
}

}  // namespace crab::store
