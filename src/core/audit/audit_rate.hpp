#pragma once

#include "base/clock.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace crab::core {

struct AuditEvent;

/// Rate limit of audit events per principal and kind; events above it are counted and summarized in
/// a record. Not thread-safe.
class AuditRate {
public:
    struct Options {
        double per_second = 1;
        std::chrono::seconds tell_after{10};  ///< after the first suppressed event
        std::size_t max_buckets = 8'192;  ///< beyond, new principals share one per kind
    };
    /// A summary of suppressed events.
    struct Suppressed {
        std::string kind, by;
        std::uint64_t count = 0;
    };
    explicit AuditRate(Options options) : options_(options) {}

    /// Whether to record the event; otherwise it is counted.
    bool take(const AuditEvent& event, SteadyTime now);
    /// The summaries that are due; resets their counts.
    std::vector<Suppressed> take_suppressed(SteadyTime now);

private:
    struct Bucket {
        double burst = 0, tokens = 0;
        SteadyTime filled{};
        std::uint64_t left_out = 0;
        SteadyTime since{};  ///< when the first of them was suppressed
    };
    using Key = std::pair<std::string, std::string>;  ///< kind and principal
    using Buckets = std::map<Key, Bucket>;
    Buckets::value_type& bucket_of(const AuditEvent& event, SteadyTime now);
    void fill(Bucket& bucket, SteadyTime now) const;
    void sweep(SteadyTime now);

    const Options options_;
    Buckets buckets_;
    std::size_t sweep_at_ = 0;
    SteadyTime swept_{};
    std::vector<const Key*> owing_;  ///< with suppressed events
};

}  // namespace crab::core
