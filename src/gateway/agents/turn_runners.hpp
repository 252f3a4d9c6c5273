#pragma once

#include "agent/agent.hpp"
#include "agent/http_model_client.hpp"
#include "base/published.hpp"
#include "base/result.hpp"
#include "config/gateway_config.hpp"
#include "core/chat/turn.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace crab::gateway {

/// The configuration of models and turns, ready for use: keys are loaded, addresses and CAs
/// checked.
struct TurnSetup {
    std::shared_ptr<const config::GatewayConfig> config;           ///< its source
    std::vector<std::shared_ptr<const agent::HttpModel>> models;   ///< as they are configured
    std::shared_ptr<const agent::AgentCatalog> agents;
};

/// Errors: kInvalidArgs, naming the configuration key, for an invalid address, an unset variable,
/// an unreadable file.
Result<std::shared_ptr<const TurnSetup>> make_turn_setup(const config::GatewayConfig& config);

/// The turn runner of one event loop: the agent, or NoModelRunner without a model, according to the
/// setup when a turn starts. Running turns keep theirs.
class CurrentRunner final : public core::TurnRunner {
public:
    struct Services {
        net::EventLoop& loop;
        core::Pipeline& pipeline;
        core::CallRunner& calls;
        core::ChatSessionStore& chats;
        BlockingPool& store_pool;
        core::ToolIndex& index;
        BlockingPool& pool;
        net::NameLookups& names;
        core::ArtifactStore* artifacts = nullptr;
        BlockingPool* artifact_pool = nullptr;
        agent::TurnTracer* tracer = nullptr;
    };
    CurrentRunner(const Published<TurnSetup>& setup, Services services)
        : setup_(setup), services_(services) {}

    core::TurnAgent agent_of(std::string_view persona) override {
        return current()->agent_of(persona);
    }
    Task<Result<std::string>> run(core::TurnRequest request, core::TurnEvents& events) override;
    const agent::AgentMetrics& metrics() const { return metrics_; }

private:
    std::shared_ptr<core::TurnRunner> current();

    Published<TurnSetup>::Reader setup_;
    Services services_;
    agent::AgentMetrics metrics_;  ///< of all turns of this loop
    std::shared_ptr<const TurnSetup> made_of_;
    std::shared_ptr<core::TurnRunner> runner_;
};

/// Metrics of the runners of all loops, added up.
void append_turn_metrics(std::string& out, std::span<const CurrentRunner* const> runners);

}  // namespace crab::gateway
