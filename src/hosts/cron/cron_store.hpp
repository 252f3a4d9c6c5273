#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "hosts/cron/cron_job.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crab::cron {

/// A change requested by a caller. A repeat within a day changes nothing and gets the first answer.
struct CronRequest {
    TenantId tenant;
    /// With the tenant they identify the request; `key`: the idempotency key, else the call id
    std::string principal, key;
    std::string content;  ///< what a repeat must match
    std::string operation_id;  ///< used only if this is not a repeat
    SystemTime at;
};
inline constexpr std::chrono::hours kKeepRequests{24};

struct CronCreated {
    std::string operation_id;
    CronJob job;  ///< as created
};

struct CronPage {
    std::vector<CronJob> jobs;
    bool more = false;
};

/// A job with the data needed to fire it.
struct DueJob {
    std::int64_t number = 0;  ///< the store's id
    CronJob job;
    std::uint64_t unpublished = 0;  ///< the number of its unpublished events
};

/// The result for a due job: the events it sends, and when it is due again.
struct CronFiring {
    std::int64_t number = 0;
    /// Its next_run_at when it was read; if it has changed, the firing is ignored
    SystemTime was_due;
    SystemTime decided_at;
    SystemTime next_run_at;
    SystemTime wake_at;  ///< when to check it again; next_run_at unless it could not fire now
    std::vector<std::string> envelopes;
};

/// What became of due jobs.
struct CronFired {
    std::size_t jobs = 0;  ///< that were taken
    std::size_t events = 0;  ///< that they have sent
};

/// An event that is not published yet.
struct UnpublishedEvent {
    std::int64_t number = 0;  ///< ascending in the order of firing
    std::uint32_t refusals = 0;
    std::string envelope;
};

struct EventDelay {
    std::int64_t number = 0;
    SystemTime until;
};

/// Store of jobs and their fired events. All functions may block (call them on BlockingPool), are
/// thread-safe, and return when changes are durable. Errors of all: kUnavailable and kInternal of
/// the store.
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

    /// Enabled jobs that are due, the longest waiting first.
    virtual Result<std::vector<DueJob>> due(SystemTime now, std::size_t limit) = 0;
    /// Takes jobs that are due and stores what `decide` makes of them in one commit. In a fleet,
    /// those that another process takes now are left out, and are its own.
    using Decide = std::function<std::vector<CronFiring>(std::span<const DueJob> due)>;
    virtual Result<CronFired> fire_due(SystemTime now, std::size_t limit, const Decide& decide);
    /// Enabled jobs that were last processed after `time`.
    virtual Result<std::vector<DueJob>> decided_after(SystemTime time, std::size_t limit) = 0;
    /// When the next job is due.
    virtual Result<std::optional<SystemTime>> next_wake() = 0;
    /// Stores the jobs' new times and their events in one commit. Returns the number of events.
    virtual Result<std::size_t> fire(std::span<const CronFiring> firings) = 0;

    /// Events that may be published at `now`, in the order of firing.
    virtual Result<std::vector<UnpublishedEvent>> unpublished(SystemTime now,
                                                              std::size_t limit) = 0;
    /// When the next event may be published.
    virtual Result<std::optional<SystemTime>> next_publish() = 0;
    /// Removes accepted events and postpones refused ones.
    virtual Result<void> settle(std::span<const std::int64_t> accepted,
                                std::span<const EventDelay> refused) = 0;
};

}  // namespace crab::cron
