#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "hosts/cron/cron_job.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crab::cron {

/// One change that a caller asks for. A repeat within a day changes nothing and gets the first
/// one's answer.
struct CronRequest {
    TenantId tenant;
    /// With the tenant they name the request; `key`: the idempotency key, else the call id
    std::string principal, key;
    std::string content;             ///< what a repeat must agree in
    std::string operation_id;        ///< counts only if this is not a repeat
    SystemTime at;
};
inline constexpr std::chrono::hours kKeepRequests{24};

struct CronCreated {
    std::string operation_id;
    CronJob job;                     ///< as it was when it was created
};

struct CronPage {
    std::vector<CronJob> jobs;
    bool more = false;
};

/// A job with what its firing needs beside it.
struct DueJob {
    std::int64_t number = 0;         ///< the store's own name for it
    CronJob job;
    std::uint64_t unpublished = 0;   ///< how many of its events nobody has accepted yet
};

/// What became of a due job: the events it sends, and when it is due again.
struct CronFiring {
    std::int64_t number = 0;
    /// Its next_run_at when it was read: else somebody was faster, and nothing happens
    SystemTime was_due;
    SystemTime decided_at;
    SystemTime next_run_at;
    SystemTime wake_at;  ///< when to look at it again; next_run_at unless it could not fire now
    std::vector<std::string> envelopes;
};

/// An event that nobody has accepted yet.
struct UnpublishedEvent {
    std::int64_t number = 0;  ///< ascending in the order of firing
    std::uint32_t refusals = 0;
    std::string envelope;
};

struct EventDelay {
    std::int64_t number = 0;
    SystemTime until;
};

/// Where jobs, and the events they have fired, are kept. All functions may block (call them on
/// BlockingPool), are thread-safe and return when what they changed is durable. Errors of all:
/// kUnavailable and kInternal of the store.
class CronStore {
public:
    virtual ~CronStore() = default;

    /// Errors: kConflict (the key was used for another request); kRateLimited, not retryable (the
    /// tenant has `most_jobs`).
    virtual Result<CronCreated> create(const CronRequest& request, const CronJob& job,
                                       std::size_t most_jobs) = 0;
    /// Returns the operation id. Errors: kConflict as above; kInvalidArgs when the tenant has no
    /// such job.
    virtual Result<std::string> remove(const CronRequest& request, std::string_view job_id) = 0;
    /// The tenant's jobs by id, that is, oldest first: those after the id `after` (empty: all), at
    /// most `limit` and about `max_bytes` of text.
    virtual Result<CronPage> list(const TenantId& tenant, std::string_view after, std::size_t limit,
                                  std::size_t max_bytes) = 0;

    /// Enabled jobs whose time has come, the longest waiting first.
    virtual Result<std::vector<DueJob>> due(SystemTime now, std::size_t limit) = 0;
    /// Enabled jobs that were last decided upon after `time`.
    virtual Result<std::vector<DueJob>> decided_after(SystemTime time, std::size_t limit) = 0;
    /// When the next job is due.
    virtual Result<std::optional<SystemTime>> next_wake() = 0;
    /// Stores, all in one commit, the jobs' new times and their events. Returns how many events
    /// that are.
    virtual Result<std::size_t> fire(std::span<const CronFiring> firings) = 0;

    /// Events that may be published at `now`, in the order of firing.
    virtual Result<std::vector<UnpublishedEvent>> unpublished(SystemTime now,
                                                              std::size_t limit) = 0;
    /// When the next event may be published.
    virtual Result<std::optional<SystemTime>> next_publish() = 0;
    /// Forgets the accepted events, and puts off the refused ones.
    virtual Result<void> settle(std::span<const std::int64_t> accepted,
                                std::span<const EventDelay> refused) = 0;
};

}  // namespace crab::cron
