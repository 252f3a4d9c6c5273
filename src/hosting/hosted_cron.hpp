#pragma once

#include "base/result.hpp"
#include "hosts/cron/cron_host.hpp"
#include "hosts/cron/cron_scheduler.hpp"
#include "hosts/cron/cron_store.hpp"
#include "sdk/tool_host/hosted_tools.hpp"

#include <filesystem>
#include <memory>

namespace crab::hosting {

/// cron.create, cron.list and cron.remove on a store, and what fires the jobs.
class HostedCron final : public sdk::HostedTools {
public:
    using Store = Result<std::unique_ptr<cron::CronStore>>;

    /// On this store; an error of opening it is handed on. Jobs fire on `home` from start() on, and
    /// their events, with the component id of `options` as source, go to `sink`.
    static Result<std::unique_ptr<sdk::HostedTools>> open(Store store, net::EventLoop& home,
                                                          std::unique_ptr<cron::CronEventSink> sink,
                                                          cron::CronPassOptions options = {});
    /// Opens or creates an SQLite file. Errors: those of CronStoreSqlite::open().
    static Result<std::unique_ptr<sdk::HostedTools>> open(const std::filesystem::path& file,
                                                          net::EventLoop& home,
                                                          std::unique_ptr<cron::CronEventSink> sink,
                                                          std::string component_id = "cron");

    /// Work whose calls have ended may still wake the scheduler.
    ~HostedCron() override { pool_.settle(); }

    void start() override { scheduler_.start(); }
    void stop(std::function<void()> done) override { scheduler_.stop(std::move(done)); }
    Result<void> register_in(core::Registry& registry) override;

private:
    HostedCron(std::unique_ptr<cron::CronStore> store, net::EventLoop& home,
               std::unique_ptr<cron::CronEventSink> sink, cron::CronPassOptions options);

    std::unique_ptr<cron::CronStore> store_;
    std::unique_ptr<cron::CronEventSink> sink_;
    cron::TimeZones zones_;
    IdSource job_ids_, event_ids_;
    BlockingPool pool_;
    cron::CronScheduler scheduler_;
    cron::CronHost host_;
};

}  // namespace crab::hosting
