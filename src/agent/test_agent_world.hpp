#pragma once

#include "agent/agent.hpp"
#include "base/task/spawn.hpp"
#include "core/audit/audit_store_none.hpp"
#include "core/call/function_host.hpp"
#include "core/chat/test_chat_session_store.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// For tests and benchmarks: one loop with the real pipeline and the real turn loop, a model that
/// is a function, tools that are functions.
namespace crab::agent::test {

using namespace std::chrono_literals;

/// A model whose answers a function makes.
class FunctionModel final : public ModelClient {
public:
    using Say = std::function<Task<Result<ModelAnswer>>(const ModelRequest& request,
                                                        AnswerSink& sink, Deadline deadline)>;
    explicit FunctionModel(const Say& say) : say_(say) {}
    std::string_view provider() const override { return "test"; }
    std::string_view model() const override { return "parrot"; }
    Task<Result<ModelAnswer>> ask(const ModelRequest& request, AnswerSink& sink,
                                  Deadline deadline) override {
        co_return co_await say_(request, sink, deadline);
    }

private:
    const Say& say_;
};

/// An index with scripted results.
struct FoundTools final : core::ToolIndex {
    Result<std::vector<std::string>> find(const std::shared_ptr<const core::ToolCatalog>&,
                                          std::string_view words, std::size_t) override {
        asked = words;
        return found;
    }
    std::vector<std::string> found;
    std::string asked;
};

/// Records the events of a turn.
struct Told final : core::TurnEvents {
    void on_debug_prompt(std::string_view messages, std::int64_t) override {
        lines.push_back("prompt " + std::string(messages));
    }
    void on_chunk(std::string_view text) override { lines.push_back("chunk " + std::string(text)); }
    void on_thinking(std::string_view text) override {
        lines.push_back("thinking " + std::string(text));
    }
    void on_tool_call(std::string_view, std::string_view name, std::string_view args) override {
        lines.push_back("call " + std::string(name) + " " + std::string(args));
    }
    void on_tool_result(std::string_view, std::string_view name, std::string_view output) override {
        lines.push_back("result " + std::string(name) + " " + std::string(output));
    }
    void on_message(std::string_view role, std::string_view, std::string_view) override {
        kept.emplace_back(role);
    }
    std::vector<std::string> lines, kept;
};

inline ModelAnswer says(std::string text) {
    return {.text = std::move(text), .requests = {}, .usage = {}, .cut_short = false};
}
inline ModelAnswer calls(std::vector<ToolRequest> requests) {
    return {.text = {}, .requests = std::move(requests), .usage = {}, .cut_short = false};
}

inline std::vector<std::unique_ptr<ModelClient>> one_model(std::unique_ptr<ModelClient> model) {
    std::vector<std::unique_ptr<ModelClient>> models;
    models.push_back(std::move(model));
    return models;
}

class World {
public:
    template <class ClockType>
    explicit World(const ClockType& time) : clock(time), loop(time) {
        auto principal = std::make_shared<core::Principal>();
        principal->id = "device/phone";
        principal->roles = {core::Role::kCaller};
        owner = std::move(principal);
    }
    ~World() { settle(); }

    void add_tool(std::string name, core::FunctionHost::Function function,
                  std::string schema = R"({"type":"object"})") {
        core::ToolSpec spec;
        spec.name = std::move(name);
        spec.description = "A tool";
        spec.input_schema = std::move(schema);
        spec.idempotent = true;
        spec.effects_known = true;
        auto tool = core::make_tool(std::move(spec)).value();
        tool->host = std::make_shared<core::FunctionHost>(std::move(function));
        const std::vector<core::ToolRef> tools{std::move(tool)};
        registry.change(ConnectionId{}, tools, {});
    }
    void drop_tool(const std::string& name) {
        const std::vector<std::string> names{name};
        registry.change(ConnectionId{}, {}, names);
    }
    /// Adds a message to the history that all turns here share.
    void keep(core::ChatMessage message) {
        message.created_at = clock.system_now();
        (void)chats.append({.id = ChatSessionId("s1"),
                            .owner = "device/phone",
                            .name = {},
                            .persona = {},
                            .created_at = clock.system_now()},
                           message);
    }
    /// Runs the loop and the pool until both are idle.
    void settle() {
        for (int hop = 0; hop < 6; ++hop) {
            bool done = false;
            pool.post([&] { loop.post([&] { done = true; }); });
            while (!done) loop.run_some(1s);
        }
    }
    struct Running {
        Told told;
        std::optional<Result<std::string>> answer;
        CancelSignal signal;
    };
    std::shared_ptr<Running> start(std::string content, std::string persona = {}) {
        auto running = std::make_shared<Running>();
        keep({.role = "user", .content = content});
        loop.post([this, running, content, persona] {
            core::TurnRequest request{
                .principal = owner, .session_id = "s1", .persona = persona, .content = content};
            spawn(
                loop.executor(), agent.run(std::move(request), running->told),
                [running](const std::exception_ptr&, std::optional<Result<std::string>> answer) {
                    running->answer = std::move(answer);
                },
                &running->signal);
        });
        return running;
    }

    const Clock& clock;
    net::EventLoop loop;
    core::ChatSessionMemory chats;
    FoundTools index;
    BlockingPool pool{1};
    core::Registry registry;
    Published<core::CallRules> rules{std::make_shared<const core::CallRules>(
        core::CallRules{.policy = core::Policy::make({}).value(),
                        .hooks = {},
                        .rates = std::make_shared<core::RateLimits>(std::vector<core::RateRule>{}),
                        .max_retries = 0})};
    core::AuditLog audit{std::make_shared<core::AuditStoreNone>(), pool, clock};
    core::Ledger ledger{clock, {}};
    core::EarlyCancels early_cancels;
    core::PrincipalRef owner;
    FunctionModel::Say say;
    std::shared_ptr<AgentCatalog> agents = std::make_shared<AgentCatalog>();
    AgentOptions& options = agents->standard;
    core::Pipeline pipeline{{.clock = clock,
                             .registry = registry,
                             .rules = rules,
                             .ledger = ledger,
                             .early_cancels = early_cancels,
                             .audit = audit},
                            loop.executor(),
                            loop.timers(),
                            loop.ids()};
    AgentMetrics metrics;
    Agent agent{{.loop = loop,
                 .pipeline = pipeline,
                 .calls = pipeline,
                 .chats = chats,
                 .store_pool = pool,
                 .index = index,
                 .pool = pool,
                 .metrics = metrics},
                one_model(std::make_unique<FunctionModel>(say)),
                agents};
};

}  // namespace crab::agent::test
