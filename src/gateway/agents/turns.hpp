#pragma once

#include "admin/agents_api.hpp"
#include "base/published.hpp"
#include "gateway/agents/turn_runners.hpp"
#include "gateway/context/gateway_context.hpp"
#include "gateway/context/session_workers.hpp"
#include "gateway/stored/artifacts.hpp"
#include "gateway/stored/chat_sessions.hpp"
#include "gateway/telemetry/trace_export.hpp"
#include "runtime/call_path.hpp"
#include "runtime/workers.hpp"
#include "store/sqlite/tool_index_sqlite.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::gateway {

/// A configured model, and until when it is tried after all others, if it is.
struct ModelState {
    std::string name;
    std::optional<SystemTime> rests_until{};
};

/// The current models and agents, and a turn runner per event loop.
class Turns final : public Component {
public:
    struct Uses {
        const GatewayContext& context;
        Workers& workers;
        SessionWorkers& session_workers;
        ChatSessions& chats;
        CallPath& calls;
        Artifacts& artifacts;
        TraceExport& traces;
    };
    explicit Turns(const Uses& uses) : uses_(uses) {}

    std::string_view name() const override { return "turns"; }
    std::span<const ConfigKey> keys() const override;
    /// Errors: those of make_turn_setup().
    Result<void> start() override;
    Result<Change> prepare(const config::GatewayConfig& next) override;
    void add_metrics(core::MetricsPage& page) override;
    /// The operator's routes about agents.
    void add_routes(const ListenerRoutes& table) override;

    /// The runner of the event loop with that index.
    core::TurnRunner& runner(std::size_t i) { return *runners_[i]; }
    /// Null for a loop that is not the gateway's.
    core::TurnRunner* runner_of(const net::EventLoop& loop);
    /// The agents as they are configured now. Thread-safe.
    std::vector<admin::ShownAgent> agents() const;
    /// The models as they are configured now. Thread-safe.
    std::vector<ModelState> models() const;
    /// The tenant of the calls of that agent; nothing: no such agent is configured. Thread-safe.
    std::optional<TenantId> tenant_of(std::string_view agent) const;

private:
    void make_api();

    const Uses uses_;
    store::sqlite::ToolIndexSqlite index_;
    std::unique_ptr<Published<TurnSetup>> setup_;
    std::vector<std::unique_ptr<CurrentRunner>> runners_;
    std::unique_ptr<admin::AgentsApi> api_;
};

}  // namespace crab::gateway
