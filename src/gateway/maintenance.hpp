#pragma once

#include "base/process/memory_trim.hpp"
#include "gateway/access_rights.hpp"
#include "gateway/artifacts.hpp"
#include "gateway/call_ledger.hpp"
#include "gateway/chat_sessions.hpp"
#include "gateway/credentials.hpp"
#include "gateway/event_log.hpp"
#include "gateway/event_loops.hpp"
#include "net/loop/periodic.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace crab::gateway {

/// Periodic work: flushes and prunes stores, returns memory. Its timers are on the first event
/// loop, its work on the worker threads.
class Maintenance final : public Component {
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
    explicit Maintenance(const Uses& uses) : uses_(uses) {}

    std::string_view name() const override { return "maintenance"; }
    Result<void> start() override;
    void add_metrics(core::MetricsPage& page) override;
    void stop(Deadline deadline) override;

private:
    void every(Milliseconds time, std::function<void()> work);
    /// The same on a worker thread.
    void on_worker_every(Milliseconds time, std::function<void()> work);
    void trim_memory();

    const Uses uses_;
    MemoryTrim trim_;
    std::atomic<bool> trimming_ = false;
    std::vector<std::unique_ptr<net::Periodic>> timers_;
};

}  // namespace crab::gateway
