#pragma once

#include "base/result.hpp"
#include "hosts/memory/memory_store.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crab::store {

/// BM25 in whole millionths, so that a page can be continued at a score without worrying about its
/// last bit. `counts` says how often each wanted phrase occurs; `weights` are the mean number of
/// words of an entry and the weight of each phrase. It only falls as `words` grows.
std::int64_t memory_score(std::span<const std::uint32_t> counts, std::span<const double> weights,
                          double words);

/// The first of the weights: the mean length of the scope's entries.
double memory_mean_words(std::int64_t words, std::int64_t entries);
/// The weight of a phrase that `found` of `entries` have: its inverse document frequency in the
/// form that is never negative, ln(1 + (N - n + 0.5) / (n + 0.5)).
double memory_phrase_weight(double entries, double found);

/// Where an entry stands in the order of a query. The score counts millionths; 0 when the order is
/// by time.
struct MemoryMark {
    std::int64_t score = 0, occurred_ms = 0, row = 0;

    /// Whether this one comes before `other`.
    bool precedes(const MemoryMark& other, memory::MemoryOrder order) const;
};

/// What one page leaves to the next: the state of the first, as far as the order depends on it, and
/// the last entry given. Entries never change, so with the weights and the newest row of the first
/// page the order stays what it was; deleted ones just drop out.
struct MemoryPosition {
    std::int64_t last_row = 0;  ///< what was appended later is not seen
    std::vector<double> weights;  ///< for memory_score(); empty when the order is by time
    bool first_page = true;
    MemoryMark mark;  ///< of the last entry given, unless this is the first page

    std::string to_bytes() const;
    /// Errors: kInvalidArgs unless there are `weights` weights.
    static Result<MemoryPosition> parse(std::string_view bytes, std::size_t weights);
};

/// The first marks in an order, of many.
class MemoryBest {
public:
    MemoryBest(std::size_t most, memory::MemoryOrder order) : most_(most), order_(order) {}

    bool is_full() const { return best_.size() >= most_; }
    /// The last that would stay; there is one.
    const MemoryMark& last() const { return best_.front(); }
    void add(const MemoryMark& mark);
    /// In order.
    std::vector<MemoryMark> finish();

private:
    const std::size_t most_;
    const memory::MemoryOrder order_;
    std::vector<MemoryMark> best_;  // a heap whose top is the last one
};

}  // namespace crab::store
