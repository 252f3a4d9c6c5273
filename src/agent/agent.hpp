#pragma once

#include "agent/agent_metrics.hpp"
#include "agent/agent_options.hpp"
#include "agent/models.hpp"
#include "agent/repeat_guard.hpp"
#include "agent/tool_access.hpp"
#include "agent/tool_offer.hpp"
#include "agent/tool_output.hpp"
#include "agent/turn_trace.hpp"
#include "base/task/blocking_pool.hpp"
#include "core/call/artifact_store.hpp"
#include "core/chat/chat_session_store.hpp"
#include "core/chat/turn.hpp"
#include "core/pipeline/pipeline.hpp"
#include "json/parser.hpp"
#include "net/loop/event_loop.hpp"

#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace crab::agent {

/// Runs turns: sends the conversation to the model and runs its tool calls through the pipeline
/// until it answers. Before each model request the tools are those that the principal may call at
/// that moment. One per event loop. Source: docs/protocols/clawseed.md, sections 5 and 6.
class Agent final : public core::TurnRunner {
public:
    struct Services {
        net::EventLoop& loop;
        core::Pipeline& pipeline;
        core::CallRunner& calls;
        core::ChatSessionStore& chats;
        /// The thread that stores messages, so that reads see earlier writes
        BlockingPool& store_pool;
        core::ToolIndex& index;
        BlockingPool& pool;                      ///< for searching the index
        /// Null: pictures that tools upload are not shown to models
        core::ArtifactStore* artifacts = nullptr;
        BlockingPool* artifact_pool = nullptr;           ///< with `artifacts`
        AgentMetrics& metrics;
        TurnTracer* tracer = nullptr;  ///< null: no spans are exported
    };
    /// There is at least one model.
    Agent(Services services, std::vector<std::unique_ptr<ModelClient>> models,
          std::shared_ptr<const AgentCatalog> agents)
        : services_(services),
          models_(services.loop.clock(), std::move(models), services.metrics.fallbacks),
          agents_(std::move(agents)) {}

    core::TurnAgent agent_of(std::string_view persona) override;
    Task<Result<std::string>> run(core::TurnRequest request, core::TurnEvents& events) override;

private:
    struct Turn;
    Task<Result<std::string>> run_rounds(Turn& turn);
    Task<Result<void>> begin(Turn& turn);
    void offer_tools(Turn& turn);
    Task<std::string> find_tools(Turn& turn, std::string_view args);
    void take_requests(Turn& turn, ModelAnswer& answer);
    Task<bool> run_tools(Turn& turn);
    Task<std::string> ask_person(Turn& turn, const ToolRequest& request);
    Task<void> load_pictures(Turn& turn);
    Task<std::optional<ToolPicture>> find_picture(Turn& turn, const core::Outcome& outcome);
    Task<Result<ModelAnswer>> ask_models(Turn& turn, const ModelRequest& request, AnswerSink& sink);
    static void count(Turn& turn, const ModelUsage& usage, Milliseconds generating);
    bool sees(const AgentOptions& options) const;
    std::vector<std::size_t> order_of(const Turn& turn) const;

    Services services_;
    Models models_;
    const std::shared_ptr<const AgentCatalog> agents_;
    ToolOffers offers_;
    json::Parser parser_;
};

}  // namespace crab::agent
