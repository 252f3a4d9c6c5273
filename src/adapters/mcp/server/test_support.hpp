#pragma once

#include "adapters/mcp/server/endpoints.hpp"
#include "base/task/blocking_pool.hpp"
#include "base/task/fair_pool.hpp"
#include "base/task/waiter.hpp"
#include "base/test_wait.hpp"
#include "core/approvals/test_approval_store.hpp"
#include "core/call/function_host.hpp"
#include "core/call/inquirer.hpp"
#include "core/call/test_tools.hpp"
#include "core/ledger/test_call_task_store.hpp"
#include "net/http/routed_service.hpp"
#include "net/http/test_support.hpp"
#include "net/loop/finish_on.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace crab::mcp::test {

using net::test::RawClient;

/// Waits until its call is cancelled, or until `open`.
class GateHost final : public core::ToolHost {
public:
    Task<core::Outcome> run(core::AdmittedCall, core::FrameSink& sink) override {
        ++started;
        if (sink.wants_progress())
            sink.on_progress({.message = "begun", .progress = 1, .total = 2});
        Waiter waiter(net::EventLoop::current()->timers());
        while (!open) {
            const auto soon = net::EventLoop::current()->now() + Milliseconds(5);
            if (co_await waiter.wait(soon) == WaitEnd::kCancelled) {
                ++cancelled;
                co_return fail(ErrorCode::kCancelled, "cancelled");
            }
        }
        core::ToolResult result;
        result.content = "through the gate";
        co_return result;
    }
    std::atomic<bool> open = false;
    std::atomic<int> started = 0, cancelled = 0;
};

/// Asks its caller what its arguments say, all questions at once, and answers with what came; asks
/// again as often as `rounds` says.
class AskingHost final : public core::ToolHost {
public:
    Task<core::Outcome> run(core::AdmittedCall call, core::FrameSink& sink) override {
        sink.on_log({.level = "warning", .logger = "asker", .data = R"({"about":"asking"})"});
        sink.on_log({.level = "debug", .data = R"("unwanted")"});
        core::Inquirer* const inquirer = call.call().inquirer;
        core::ToolResult result;
        result.content = "nobody";
        for (int round = 0; inquirer != nullptr && round < rounds; ++round) {
            core::Question question{.kind = core::Question::Kind::kForm,
                                    .key = "name",
                                    .method = "elicitation/create",
                                    .params = kForm};
            ++asked;
            const auto answer = co_await inquirer->ask(std::move(question));
            if (!answer && answer.error().code == ErrorCode::kCancelled) {
                ++cancelled;
                co_return std::unexpected(answer.error());
            }
            result.content = answer ? *answer : std::string(token_of(answer.error().code));
        }
        if (then) co_return co_await then->run(call, sink);
        ++ended;
        co_return result;
    }
    std::shared_ptr<core::ToolHost> then;  ///< what goes on after the questions
    static constexpr const char* kForm =
        R"({"mode":"form","message":"[x] who?","requestedSchema":{"type":"object",)"
        R"("properties":{"n":{"type":"string"}},"required":["n"]}})";
    std::atomic<int> rounds = 1, asked = 0, cancelled = 0, ended = 0;
};

/// Finds by a word that a name or description contains, while it is not held.
class WordIndex final : public core::ToolIndex {
public:
    Result<std::vector<std::string>> find(const std::shared_ptr<const core::ToolCatalog>& catalog,
                                          std::string_view words, std::size_t most) override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !held_; });
        asked_.emplace_back(words);
        std::vector<std::string> found;
        for (const auto& [name, description] : catalog->entries)
            if (found.size() < most && (name.contains(words) || description.contains(words)))
                found.push_back(name);
        return found;
    }
    void hold(bool held) {
        const std::scoped_lock lock(mutex_);
        held_ = held;
        changed_.notify_all();
    }
    /// What was searched for, in the order of the ends.
    std::vector<std::string> asked() {
        const std::scoped_lock lock(mutex_);
        return asked_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool held_ = false;
    std::vector<std::string> asked_;
};

/// The listener of one event loop; a token is the name of its principal.
class Listener final : public net::RoutedService<core::PrincipalRef> {
public:
    void add(Endpoints& endpoints) { endpoints.add_routes(routes_); }
    Task<void> serve(net::HttpExchange& exchange) override {
        const net::HttpRequest& request = exchange.request();
        if (!net::found_or_refused(exchange, request.match)) co_return;
        const std::string name(request.find("authorization").value_or("Bearer ann").substr(7));
        core::PrincipalRef& principal = principals_[name];
        if (!principal) {
            auto made = std::make_shared<core::Principal>(*core::principal_of("caller/" + name));
            made->credential_id = "of " + name;
            principal = std::move(made);
        }
        const Request routed{exchange, principal, request.match.arguments};
        if (!routes_.serve_now(request.match, routed))
            co_await routes_.serve(request.match, routed);
    }

private:
    std::map<std::string, core::PrincipalRef> principals_;
};

struct Answer {
    int status = 0;
    std::string head, body;
    /// The value of a field of the head.
    std::string field(std::string_view name) const {
        const std::size_t at = head.find(fmt::format("\r\n{}: ", name));
        if (at == std::string::npos) return {};
        const std::size_t from = at + name.size() + 4;
        return head.substr(from, head.find("\r\n", from) - from);
    }
};

/// A gateway's calls and its MCP server, on two event loops with a port each.
class ServerTest : public testing::Test {
protected:
    /// `owners`: those behind clients approve their calls.
    explicit ServerTest(ServerOptions chosen = quiet(), bool owners = false)
        : state(
              [&] {
                  if (owners) chosen.owners_approve = approvals.get();
                  return chosen;
              }(),
              {task_rows, task_pool, clock, random,
               []() -> TimerWheel& { return net::EventLoop::current()->timers(); }},
              key()) {
        core::CallRules set;
        set.policy = core::policy_of();
        set.rates = std::make_shared<core::RateLimits>(std::vector<core::RateRule>{});
        rules.set(std::make_shared<const core::CallRules>(set));
        offer("echo", std::make_shared<core::FunctionHost>(
                          [](std::string_view args, const core::Principal&) -> core::Outcome {
                              core::ToolResult result;
                              result.content = "echo " + std::string(args);
                              return result;
                          }));
        offer("gate", gate);
        for (int i = 0; i < 2; ++i) parts.push_back(std::make_unique<LoopPart>(*this));
    }
    ~ServerTest() override {
        parts.clear();
        audit.flush_and_wait();
    }
    /// Answers quick calls as JSON however slow this machine is.
    static ServerOptions quiet() {
        ServerOptions options;
        options.version = "1.2.3";
        options.stream_after = std::chrono::seconds(20);
        return options;
    }
    static crypto::AesKey key() { return crypto::AesKey(std::array<std::uint8_t, 32>{7}); }

    void offer(std::string name, std::shared_ptr<core::ToolHost> host,
               std::string schema = R"({"type":"object"})") {
        core::ToolSpec spec;
        spec.description = "does " + name;
        spec.input_schema = std::move(schema);
        auto tool = core::tool_of(std::move(name), "phone", ConnectionId{1}, {}, std::move(spec));
        tool->host = std::move(host);
        registry.change(ConnectionId{1}, std::array<core::ToolRef, 1>{tool}, {});
    }

    /// A source of resources and prompts; `answer` says what its unlisted tools give.
    using Served = std::function<core::Outcome(std::string_view tool, std::string_view args)>;
    void offer_source(const std::string& source, Catalog catalog, Served answer) {
        const auto connection = ConnectionId{100 + sources_++};
        std::vector<core::ToolRef> tools;
        for (const std::string_view name : {kReadTool, kGetTool, kCompleteTool}) {
            auto tool = core::tool_of(std::string(name), source, connection);
            tool->unlisted = tool->unique_name_only = true;
            tool->source.kind = core::SourceKind::kMcpServer;
            tool->host = std::make_shared<core::FunctionHost>(
                [answer, name](std::string_view args, const core::Principal&) {
                    return answer(name, args);
                });
            tools.push_back(std::move(tool));
        }
        registry.change(connection, tools, {});
        catalog.source = source;
        catalog.watchable = true;
        catalogs.set(source, std::make_shared<const Catalog>(std::move(catalog)));
    }
    static core::Outcome mcp_result(std::string object) {
        core::ToolResult result;
        result.kind = core::ContentKind::kJson;
        result.content_type = kMcpResultType;
        result.content = std::move(object);
        return result;
    }

    struct LoopPart {
        explicit LoopPart(ServerTest& test) : server(test.clock, listener), test_(test) {
            server.thread.run([&] {
                net::EventLoop& loop = server.thread.loop;
                pipeline.emplace(core::CallServices{.clock = test_.clock,
                                                    .registry = test_.registry,
                                                    .rules = test_.rules,
                                                    .ledger = test_.ledger,
                                                    .early_cancels = test_.early_cancels,
                                                    .audit = test_.audit,
                                                    .approvals = test_.approvals.get()},
                                 loop.executor(), loop.timers(), loop.ids());
                endpoint.emplace(Endpoint::Uses{.loop = loop,
                                                .pipeline = *pipeline,
                                                .calls = *pipeline,
                                                .registry = test_.registry,
                                                .catalogs = test_.catalogs,
                                                .watches = test_.watches,
                                                .state = test_.state,
                                                .artifacts = {},
                                                .search = {&test_.index, &test_.searches}});
                listener.add(*endpoint);
                return 0;
            });
        }
        ~LoopPart() {
            server.stop();
            net::finish_on(server.thread.loop,
                           [&](std::function<void()> done) { endpoint->end(std::move(done)); });
            server.thread.run([&] {
                endpoint.reset();
                pipeline.reset();
                return 0;
            });
            test_.task_pool.settle();  // it wakes waiters on this loop
        }
        Listener listener;
        net::test::ServerThread server;
        std::optional<core::Pipeline> pipeline;
        std::optional<Endpoints> endpoint;

    private:
        ServerTest& test_;
    };

    std::string text_of(std::string_view method, std::string_view fields, std::string_view body) {
        return fmt::format("{} {} HTTP/1.1\r\nHost: h\r\n{}Content-Length: {}\r\n\r\n{}", method,
                           path, fields, body.size(), body);
    }
    /// Sends a request and reads the head of its answer.
    std::unique_ptr<RawClient> begin(std::string_view method, std::string_view fields,
                                     std::string_view body = {}, std::size_t part = 0) {
        auto client = std::make_unique<RawClient>(parts[part]->server.endpoint());
        client->send(text_of(method, fields, body));
        return client;
    }
    static Answer split(std::string text) {
        Answer answer;
        const std::size_t at = text.find("\r\n\r\n");
        answer.head = text.substr(0, at + 2);
        if (at != std::string::npos) answer.body = text.substr(at + 4);
        if (text.size() > 12) answer.status = std::atoi(text.c_str() + 9);
        return answer;
    }
    Answer ask(std::string_view method, std::string_view fields, std::string_view body = {},
               std::size_t part = 0) {
        return split(begin(method, fields, body, part)->read_response());
    }
    Answer post(std::string_view fields, std::string_view body, std::size_t part = 0) {
        return ask("POST", fmt::format("Content-Type: application/json\r\n{}", fields), body, part);
    }

    // --- modern

    static std::string modern_fields(std::string_view method, std::string_view name = {}) {
        std::string out = fmt::format(
            "Content-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n"
            "Mcp-Method: {}\r\n",
            method);
        if (!name.empty()) out += fmt::format("Mcp-Name: {}\r\n", name);
        return out;
    }
    /// `params` are members without braces.
    static std::string modern_body(std::string_view method, std::string_view params = {},
                                   std::string_view meta = {}) {
        return fmt::format(R"({{"jsonrpc":"2.0","id":"q1","method":"{}","params":{{"_meta":{{)"
                           R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                           R"("io.modelcontextprotocol/clientCapabilities":{{}}{}}}{}{}}}}})",
                           method, meta, params.empty() ? "" : ",", params);
    }
    Answer modern(std::string_view method, std::string_view params = {},
                  std::string_view name = {}) {
        return ask("POST", modern_fields(method, name), modern_body(method, params));
    }

    // --- legacy

    static std::string request(int id, std::string_view method, std::string_view params = "{}") {
        return fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{}}})", id, method,
                           params);
    }
    static std::string opening(std::string_view version, std::string_view capabilities = "{}") {
        return request(0, "initialize",
                       fmt::format(R"({{"protocolVersion":"{}","capabilities":{},)"
                                   R"("clientInfo":{{"name":"t","version":"1"}}}})",
                                   version, capabilities));
    }
    /// The fields that name a new session.
    std::string open(std::string_view version = "2025-11-25",
                     std::string_view capabilities = "{}") {
        const Answer answer = post("", opening(version, capabilities));
        EXPECT_EQ(answer.status, 200) << answer.body;
        const std::string id = answer.field("Mcp-Session-Id");
        EXPECT_EQ(id.size(), 64u);
        return fmt::format("Mcp-Session-Id: {}\r\n", id);
    }

    std::string path = "/mcp";  ///< of requests
    RealClock clock;
    crypto::SystemRandom random;
    core::ApprovalStoreMemory decisions;
    std::unique_ptr<core::Approvals> approvals =
        core::Approvals::load(decisions, clock, {}).value();
    core::CallTaskStoreMemory task_rows;
    BlockingPool pool{1}, task_pool{1};
    ServerState state;
    WordIndex index;
    FairPool searches{1};
    core::Registry registry;
    Catalogs catalogs;
    ResourceWatches watches;
    Published<core::CallRules> rules{std::make_shared<const core::CallRules>()};
    core::Ledger ledger{clock, {}};
    core::EarlyCancels early_cancels;
    std::shared_ptr<core::AuditStoreMemory> records = std::make_shared<core::AuditStoreMemory>();
    core::AuditLog audit{records, pool, clock};
    std::shared_ptr<GateHost> gate = std::make_shared<GateHost>();
    std::vector<std::unique_ptr<LoopPart>> parts;

private:
    std::uint64_t sources_ = 0;
};

}  // namespace crab::mcp::test
