#pragma once

#include "agent/agent_metrics.hpp"
#include "agent/failure_brake.hpp"
#include "agent/model_client.hpp"
#include "agent/model_schema.hpp"
#include "base/blocking_pool.hpp"
#include "core/chat_session_store.hpp"
#include "core/pipeline.hpp"
#include "core/turn.hpp"
#include "json/parser.hpp"
#include "net/event_loop.hpp"

#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

namespace crab::agent {

/// What the operator says about turns.
struct AgentOptions {
    std::string instructions;                    ///< the system prompt; empty: ours
    std::size_t max_rounds = 25;                 ///< model requests in one turn
    Milliseconds turn_timeout{600'000};
    std::size_t context_tokens = 32'768;         ///< conversation and tools together, estimated; older turns are left out
    std::size_t output_bytes = 65'536;           ///< of one tool's output that the model sees
    std::size_t max_tools = 128;                 ///< offered to the model
};

/// Runs turns: asks the model, has its tool calls made by the one pipeline, tells it the outcomes, until it answers. The tools are
/// those that the principal may call at each request, so one that appears or vanishes during a turn is honoured at the next.
/// One for each event loop. Source: docs/protocols/clawseed.md, sections 5 and 6.
class Agent final : public core::TurnRunner {
public:
    struct Services {
        net::EventLoop& loop;
        core::Pipeline& pipeline;
        core::ChatSessionStore& chats;
        BlockingPool& store_pool;                ///< the one that stores what is said: what was posted before is read
    };
    Agent(Services services, std::unique_ptr<ModelClient> model, std::shared_ptr<const AgentOptions> options)
        : services_(services), model_(std::move(model)), options_(std::move(options)) {}

    std::string_view provider() const override { return model_->provider(); }
    std::string_view model() const override { return model_->model(); }
    Task<Result<std::string>> run(core::TurnRequest request, core::TurnEvents& events) override;
    const AgentMetrics& metrics() const { return metrics_; }

private:
    struct Turn;
    Task<Result<std::string>> run_rounds(Turn& turn, const AgentOptions& options);
    Task<Result<Conversation>> read_history(const core::TurnRequest& request);
    std::vector<OfferedTool> offered_tools(const core::TurnRequest& request);
    void take_requests(Turn& turn, ModelAnswer& answer);
    Task<bool> run_tools(Turn& turn);

    Services services_;
    std::unique_ptr<ModelClient> model_;
    std::shared_ptr<const AgentOptions> options_;
    ModelSchemas schemas_;
    json::Parser parser_;
    AgentMetrics metrics_;
};

}  // namespace crab::agent
