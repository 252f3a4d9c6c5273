#include "core/audit/audit_rate.hpp"

#include "core/audit/audit_log.hpp"

#include <algorithm>

namespace crab::core {
namespace {

constexpr std::string_view kOthers = "others";             // no principal's id: it has no slash
constexpr std::size_t kFirstSweep = 256;                   // buckets
constexpr std::chrono::seconds kBetweenSweeps{1};          // at the bound: newcomers want one

}  // namespace

bool AuditRate::take(const AuditEvent& event, SteadyTime now) {
    auto& [key, bucket] = bucket_of(event, now);
    fill(bucket, now);
    if (bucket.tokens >= 1) {
        bucket.tokens -= 1;
        return true;
    }
    if (bucket.left_out++ == 0) {
        bucket.since = now;
        owing_.push_back(&key);
    }
    return false;
}

std::vector<AuditRate::Suppressed> AuditRate::take_suppressed(SteadyTime now) {
    std::vector<Suppressed> told;
    std::erase_if(owing_, [&](const Key* key) {
        Bucket& bucket = buckets_.find(*key)->second;
        if (now - options_.tell_after < bucket.since) return false;
        told.push_back(
            {.kind = key->first, .by = key->second, .count = std::exchange(bucket.left_out, 0)});
        return true;
    });
    return told;
}

AuditRate::Buckets::value_type& AuditRate::bucket_of(const AuditEvent& event, SteadyTime now) {
    Key key(event.kind, event.by);
    if (const auto known = buckets_.find(key); known != buckets_.end()) return *known;
    if (buckets_.size() >= std::max(sweep_at_, kFirstSweep) && now >= swept_ + kBetweenSweeps)
        sweep(now);
    if (buckets_.size() >= options_.max_buckets) key.second = kOthers;
    const Bucket full{.burst = event.burst, .tokens = event.burst, .filled = now};
    return *buckets_.try_emplace(std::move(key), full).first;
}

void AuditRate::fill(Bucket& bucket, SteadyTime now) const {
    const double seconds = std::chrono::duration<double>(now - bucket.filled).count();
    bucket.tokens = std::min(bucket.burst, bucket.tokens + seconds * options_.per_second);
    bucket.filled = now;
}

/// Who is full again and owes nothing is as good as new.
void AuditRate::sweep(SteadyTime now) {
    for (auto& [key, bucket] : buckets_) fill(bucket, now);
    std::erase_if(buckets_, [](const auto& entry) {
        return entry.second.tokens >= entry.second.burst && entry.second.left_out == 0;
    });
    sweep_at_ = 2 * buckets_.size();
    swept_ = now;
}

}  // namespace crab::core
