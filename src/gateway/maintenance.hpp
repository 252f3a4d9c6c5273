#pragma once

#include "base/process/memory_trim.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/rules/access_rights.hpp"
#include "gateway/stored/artifacts.hpp"
#include "gateway/stored/chat_sessions.hpp"
#include "gateway/stored/credentials.hpp"
#include "gateway/stored/event_log.hpp"
#include "runtime/audit_trail.hpp"
#include "runtime/call_ledger.hpp"
#include "runtime/event_loops.hpp"
#include "runtime/periodic_jobs.hpp"
#include "runtime/workers.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace crab::gateway {

/// Periodic work of a gateway: flushes and prunes stores, returns memory.
class Maintenance final : public runtime::PeriodicJobs {
public:
    struct Uses {
        const GatewayContext& context;
        EventLoops& loops;
        Workers& workers;
        AuditTrail& audit;
        Credentials& credentials;
        ChatSessions& chats;
        CallLedger& ledger;
        EventLog& events;
        AccessRights& access;
        Artifacts& artifacts;
    };
    explicit Maintenance(const Uses& uses)
        : PeriodicJobs(uses.loops, uses.workers, jobs_of(*this)), uses_(uses) {}

    Result<void> start() override;
    void add_metrics(core::MetricsPage& page) override;
    void stop(Deadline deadline) override;

private:
    static std::vector<Job> jobs_of(Maintenance& self);
    void trim_memory();

    const Uses uses_;
    MemoryTrim trim_;
    std::atomic<bool> trimming_ = false;
    std::vector<std::unique_ptr<net::Periodic>> kept_;  ///< timers of other components
};

}  // namespace crab::gateway
