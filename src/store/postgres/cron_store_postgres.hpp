#pragma once

#include "base/ordered_mutex.hpp"
#include "core/events/event_store.hpp"
#include "hosts/cron/cron_store.hpp"
#include "store/postgres/connection.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace crab::store::postgres {

/// Cron jobs, and the events that they have fired. A due time fires once, whichever node comes
/// first: who finds another time in the job changes nothing. The schema is there. Thread-safe.
/// Source: docs/protocols/fleet.md, section 7.
class CronStorePostgres final : public cron::CronStore {
public:
    /// How the outbox names the event of an envelope.
    using EventOf = std::function<Result<core::NewEvent>(const std::string& envelope)>;

    /// With `event_of`, events that jobs fire are appended to those of the fleet in the commit that
    /// moves the job; without, they wait to be published.
    explicit CronStorePostgres(const ConnectionOptions& options, EventOf event_of = {})
        : event_of_(std::move(event_of)), database_(options) {}

    Result<cron::CronCreated> create(const cron::CronRequest& request, const cron::CronJob& job,
                                     std::size_t most_jobs) override;
    Result<std::string> remove(const cron::CronRequest& request, std::string_view job_id) override;
    Result<cron::CronPage> list(const TenantId& tenant, std::string_view after, std::size_t limit,
                                std::size_t max_bytes) override;
    Result<std::vector<cron::DueJob>> due(SystemTime now, std::size_t limit) override;
    Result<cron::CronFired> fire_due(SystemTime now, std::size_t limit,
                                     const Decide& decide) override;
    Result<std::vector<cron::DueJob>> decided_after(SystemTime time, std::size_t limit) override;
    Result<std::optional<SystemTime>> next_wake() override;
    Result<std::size_t> fire(std::span<const cron::CronFiring> firings) override;
    Result<std::vector<cron::UnpublishedEvent>> unpublished(SystemTime now,
                                                            std::size_t limit) override;
    Result<std::optional<SystemTime>> next_publish() override;
    Result<void> settle(std::span<const std::int64_t> accepted,
                        std::span<const cron::EventDelay> refused) override;

private:
    struct Known;

    // Callers hold the lock.
    Result<std::optional<Known>> find_request(const cron::CronRequest& request);
    Result<void> keep_request(const cron::CronRequest& request, const cron::CronJob& job);
    Result<void> insert(const cron::CronJob& job);
    Result<std::size_t> store(std::span<const cron::CronFiring> firings);
    Result<bool> move(const cron::CronFiring& firing);
    Result<void> keep_to_publish(const cron::CronFiring& firing);
    Result<void> append(std::span<const cron::CronFiring* const> fired);
    Result<std::vector<cron::DueJob>> jobs_where(std::string_view condition, SystemTime time,
                                                 std::size_t limit);

    Result<std::optional<SystemTime>> find_time(const char* sql);

    const EventOf event_of_;
    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
};

}  // namespace crab::store::postgres
