#pragma once

#include "base/ordered_mutex.hpp"
#include "hosts/cron/cron_store.hpp"
#include "store/postgres/connection.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace crab::store::postgres {

/// Cron jobs, and the events that they have fired. A due time fires once, whichever node comes
/// first: who finds another time in the job changes nothing. The schema is there. Thread-safe.
class CronStorePostgres final : public cron::CronStore {
public:
    explicit CronStorePostgres(const ConnectionOptions& options) : database_(options) {}

    Result<cron::CronCreated> create(const cron::CronRequest& request, const cron::CronJob& job,
                                     std::size_t most_jobs) override;
    Result<std::string> remove(const cron::CronRequest& request, std::string_view job_id) override;
    Result<cron::CronPage> list(const TenantId& tenant, std::string_view after, std::size_t limit,
                                std::size_t max_bytes) override;
    Result<std::vector<cron::DueJob>> due(SystemTime now, std::size_t limit) override;
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
    Result<std::size_t> fire_one(const cron::CronFiring& firing);

    Result<std::vector<cron::DueJob>> jobs_where(std::string_view condition, SystemTime time,
                                                 std::size_t limit);
    Result<std::optional<SystemTime>> find_time(const char* sql);

    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
};

}  // namespace crab::store::postgres
