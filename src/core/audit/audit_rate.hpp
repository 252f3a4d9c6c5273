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

/// How often what a principal does is recorded one by one, for each kind of event by itself; the
/// rest is counted, and told in a record of its own. Not thread-safe.
class AuditRate {
public:
    struct Options {
        double per_second = 1;
        std::chrono::seconds tell_after{10};  ///< since the first that was left out
        std::size_t max_buckets = 8'192;  ///< beyond, newcomers share one for each kind
    };
    /// What was left out, and is told now.
    struct LeftOut {
        std::string kind, by;
        std::uint64_t count = 0;
    };
    explicit AuditRate(Options options) : options_(options) {}

    /// Whether the event is to be recorded; else it is counted.
    bool take(const AuditEvent& event, SteadyTime now);
    /// What has been left out for long enough; counted again from here on.
    std::vector<LeftOut> take_left_out(SteadyTime now);

private:
    struct Bucket {
        double burst = 0, tokens = 0;
        SteadyTime filled{};
        std::uint64_t left_out = 0;
        SteadyTime since{};  ///< when the first of those was left out
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
    std::vector<const Key*> owing_;  ///< of whom something was left out
};

}  // namespace crab::core
