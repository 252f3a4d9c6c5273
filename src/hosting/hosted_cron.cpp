#include "hosting/hosted_cron.hpp"

#include "hosts/cron/cron_tools.hpp"
#include "store/sqlite/cron_store_sqlite.hpp"

namespace crab::hosting {
namespace {

constexpr std::size_t kCronThreads = 2;   // the store is one connection

}  // namespace

HostedCron::HostedCron(std::unique_ptr<cron::CronStore> store, net::EventLoop& home,
                       std::unique_ptr<cron::CronEventSink> sink, cron::CronPassOptions options)
    : store_(std::move(store)),
      sink_(std::move(sink)),
      job_ids_(home.clock()),
      event_ids_(home.clock()),
      pool_(kCronThreads),
      scheduler_({.store = *store_,
                  .zones = zones_,
                  .pool = pool_,
                  .clock = home.clock(),
                  .timers = home.timers(),
                  .ids = event_ids_,
                  .sink = *sink_},
                 home.executor(), std::move(options)),
      host_({.store = *store_,
             .zones = zones_,
             .pool = pool_,
             .clock = home.clock(),
             .ids = job_ids_,
             .timers_here = []() -> TimerWheel& { return net::EventLoop::current()->timers(); },
             .on_created = [this] { scheduler_.wake(); }}) {}

Result<std::unique_ptr<sdk::HostedTools>> HostedCron::open(
    const std::filesystem::path& file, net::EventLoop& home,
    std::unique_ptr<cron::CronEventSink> sink, std::string component_id) {
    cron::CronPassOptions options;
    options.component_id = std::move(component_id);
    return open(store::sqlite::CronStoreSqlite::open(file), home, std::move(sink),
                std::move(options));
}

Result<std::unique_ptr<sdk::HostedTools>> HostedCron::open(
    Store store, net::EventLoop& home, std::unique_ptr<cron::CronEventSink> sink,
    cron::CronPassOptions options) {
    if (!store) return fail(std::move(store.error()));
    return std::unique_ptr<sdk::HostedTools>(
        new HostedCron(std::move(*store), home, std::move(sink), std::move(options)));
}

Result<void> HostedCron::register_in(core::Registry& registry) {
    sdk::register_tools(registry, cron::cron_tools(), host_);
    return {};
}

}  // namespace crab::hosting
