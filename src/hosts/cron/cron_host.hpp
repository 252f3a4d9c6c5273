#pragma once

#include "base/clock.hpp"
#include "base/id_source.hpp"
#include "base/task/blocking_pool.hpp"
#include "core/call/tool_host.hpp"
#include "hosts/cron/cron_store.hpp"
#include "hosts/cron/time_zones.hpp"

#include <functional>
#include <mutex>
#include <string>

namespace crab::cron {

/// Runs cron.create, cron.list and cron.remove (cron_tools.hpp), in the gateway or in a process of
/// its own. Tenant, agent and session come from the call, never from its arguments. Called on any
/// event loop; its arguments must outlive it, and `ids` is not shared. Source:
/// docs/protocols/rtp.md, section 11.
class CronHost final : public core::ToolHost {
public:
    static constexpr std::size_t kMostJobsPerTenant = 1000;

    /// `on_created` is called on any thread when a job has been created: CronScheduler::wake().
    CronHost(CronStore& store, TimeZones& zones, BlockingPool& pool, const Clock& clock,
             IdSource& ids, std::function<void()> on_created);

    /// Errors: kInvalidArgs, kToolNotFound for other tools, and those of CronStore and TimeZones.
    Task<core::Outcome> run(core::AdmittedCall call, core::FrameSink& sink) override;

private:
    Task<core::Outcome> create(core::AdmittedCall call);
    Task<core::Outcome> list(core::AdmittedCall call);
    Task<core::Outcome> remove(core::AdmittedCall call);
    CronRequest request_of(const core::AdmittedCall& call, std::string content);
    std::string new_id();
    SystemTime now() const { return std::chrono::floor<Milliseconds>(clock_.system_now()); }

    CronStore& store_;
    TimeZones& zones_;
    BlockingPool& pool_;
    const Clock& clock_;
    std::mutex ids_mutex_;
    IdSource& ids_;
    const std::function<void()> on_created_;
};

}  // namespace crab::cron
