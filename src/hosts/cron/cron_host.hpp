#pragma once

#include "base/clock.hpp"
#include "base/id_source.hpp"
#include "base/task/run_within.hpp"
#include "core/call/tool_host.hpp"
#include "hosts/cron/cron_store.hpp"
#include "hosts/cron/time_zones.hpp"

#include <functional>
#include <mutex>
#include <string>
#include <utility>

namespace crab::cron {

/// Runs cron.create, cron.list and cron.remove (cron_tools.hpp), in the gateway or in a process of
/// its own. Tenant, agent and session come from the call, never from its arguments. Called on any
/// event loop. Source: docs/protocols/rtp.md, section 11.
class CronHost final : public core::ToolHost {
public:
    static constexpr std::size_t kMostJobsPerTenant = 1000;

    /// All must outlive the host.
    struct Services {
        CronStore& store;
        TimeZones& zones;
        BlockingPool& pool;
        const Clock& clock;
        IdSource& ids;  ///< not shared
        TimersHere timers_here;
        /// Called on a thread of the pool when a job has been created, also after its call has
        /// ended: CronScheduler::wake()
        std::function<void()> on_created;
    };
    explicit CronHost(Services services) : services_(std::move(services)) {}

    /// Errors: kInvalidArgs, kToolNotFound for other tools, and those of CronStore and TimeZones.
    Task<core::Outcome> run(core::AdmittedCall call, core::FrameSink& sink) override;

private:
    Task<core::Outcome> create(core::AdmittedCall call);
    Task<core::Outcome> list(core::AdmittedCall call);
    Task<core::Outcome> remove(core::AdmittedCall call);
    CronRequest request_of(const core::AdmittedCall& call, std::string content);
    std::string new_id();
    SystemTime now() const {
        return std::chrono::floor<Milliseconds>(services_.clock.system_now());
    }

    const Services services_;
    std::mutex ids_mutex_;
};

}  // namespace crab::cron
