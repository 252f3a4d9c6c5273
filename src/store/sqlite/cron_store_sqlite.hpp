#pragma once

#include "base/ordered_mutex.hpp"
#include "hosts/cron/cron_store.hpp"
#include "store/sqlite/database.hpp"

#include <filesystem>
#include <memory>

namespace crab::store::sqlite {

/// Jobs, their unpublished events and the day's requests, in the tables `cron_job`, `cron_outbox`
/// and `cron_request`. Due jobs and events are found by indexes. Thread-safe.
class CronStoreSqlite final : public cron::CronStore {
public:
    /// Errors: those of Database.
    static Result<std::unique_ptr<CronStoreSqlite>> open(const std::filesystem::path& path,
                                                         DatabaseOptions options = {});

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
    explicit CronStoreSqlite(Database database) : database_(std::move(database)) {}

    Result<std::optional<Known>> find_request(const cron::CronRequest& request);
    Result<void> keep_request(const cron::CronRequest& request, const cron::CronJob& job);
    Result<std::vector<cron::DueJob>> jobs_where(std::string_view condition, SystemTime time,
                                                 std::size_t limit);
    Result<std::optional<SystemTime>> find_time(std::string_view sql);
    Result<std::size_t> fire_one(const cron::CronFiring& firing, Statement& update,
                                 Statement& insert);

    OrderedMutex<LockRank::kStore> mutex_;
    Database database_;
};

}  // namespace crab::store::sqlite
