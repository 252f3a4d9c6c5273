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

/// What the configuration says about models and turns, ready for use: keys are read, addresses and
/// authorities checked.
struct TurnSetup {
    std::shared_ptr<const config::GatewayConfig> config;           ///< that it was made of
    std::vector<std::shared_ptr<const agent::HttpModel>> models;   ///< as they are configured
    std::shared_ptr<const agent::AgentBook> agents;
};

/// Errors: kInvalidArgs, naming the key of the configuration, for an address that is none, a
/// variable that is not set, a file that cannot be read.
Result<std::shared_ptr<const TurnSetup>> make_turn_setup(const config::GatewayConfig& config);

/// The runner of one event loop: the agent, or without a model the one that says so, as the setup
/// is when a turn begins. A turn that runs goes on with what it began with.
class CurrentRunner final : public core::TurnRunner {
public:
    struct Services {
        net::EventLoop& loop;
        core::Pipeline& pipeline;
        core::ChatSessionStore& chats;
        BlockingPool& store_pool;
        core::ToolIndex& index;
        BlockingPool& pool;
        net::NameLookups& names;
        core::ArtifactStore* artifacts = nullptr;
        BlockingPool* artifact_pool = nullptr;
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
    agent::AgentMetrics metrics_;                ///< of all that have run here
    std::shared_ptr<const TurnSetup> made_of_;
    std::shared_ptr<core::TurnRunner> runner_;
};

/// Metrics of the runners of all loops, added up.
void append_turn_metrics(std::string& out, std::span<const CurrentRunner* const> runners);

}  // namespace crab::gateway
