#pragma once

#include "adapters/clawseed/chat.hpp"
#include "adapters/clawseed/device_session.hpp"
#include "adapters/clawseed/hub.hpp"
#include "base/task/spawn.hpp"
#include "base/test_clock.hpp"
#include "core/audit/audit_store_none.hpp"
#include "core/chat/test_chat_session_store.hpp"
#include "core/pipeline/pipeline.hpp"
#include "json/value.hpp"
#include "net/tls/connection.hpp"
#include "net/websocket/websocket_session.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <sys/socket.h>

/// A gateway of one event loop without a listener: the real hub, chats, sessions and pipeline, a
/// scripted model, a clock that stands still, and sockets that lead from one end of this process to
/// the other.
namespace crab::clawseed::test {

using namespace std::chrono_literals;
using json::Value;

inline std::string text_of(const Value& frame, std::string_view member) {
    const Value* value = frame.find(member);
    return value != nullptr && value->as_string() != nullptr ? *value->as_string() : "";
}

inline std::vector<std::string> types_of(const std::vector<Value>& frames) {
    std::vector<std::string> types;
    for (const Value& frame : frames) types.push_back(text_of(frame, "type"));
    return types;
}

/// A scripted model; without a script it answers `ok` immediately.
class ScriptedRunner final : public core::TurnRunner {
public:
    using Script = std::function<Task<Result<std::string>>(const core::TurnRequest& request,
                                                           core::TurnEvents& events)>;

    core::TurnAgent agent_of(std::string_view) override {
        return {.name = "crab", .tenant = "default", .provider = "scripted", .model = "parrot-1"};
    }
    Task<Result<std::string>> run(core::TurnRequest request, core::TurnEvents& events) override {
        requests.push_back(request);
        if (scripts.empty()) {
            events.on_chunk("ok");
            co_return "ok";
        }
        const Script script = std::move(scripts.front());
        scripts.pop_front();
        co_return co_await script(request, events);
    }

    std::deque<Script> scripts;
    std::vector<core::TurnRequest> requests;
};

/// Records the log of turns: `begun s1`, `answer s1 text`.
class ToldTurns final : public core::TurnLog {
public:
    void begun(const core::TurnSummary& story) override {
        lines.push_back("begun " + story.session);
        stories.push_back(story);
    }
    void ended(const core::TurnSummary& story, const core::TurnEnd& end) override {
        lines.push_back(end.outcome + " " + story.session + " " + end.text);
    }
    std::vector<std::string> lines;
    std::vector<core::TurnSummary> stories;
};

/// A chat connection without a socket that records what it is sent.
class FakeTarget final : public FrameTarget {
public:
    explicit FakeTarget(std::uint64_t number) : connection_(ConnectionId{number}) {}
    void send_frame(std::string frame) override { frames.push_back(Value::parse(frame).value()); }
    ConnectionId connection() const override { return connection_; }
    std::vector<std::string> types() const { return types_of(frames); }
    std::vector<Value> of(std::string_view type) const {
        std::vector<Value> found;
        for (const Value& frame : frames) {
            if (text_of(frame, "type") == type) found.push_back(frame);
        }
        return found;
    }

    std::vector<Value> frames;

private:
    ConnectionId connection_;
};

/// The client's end of a connection; records what it receives.
class Client final : public net::WebSocketHandler {
public:
    void on_open(net::WebSocketSession& opened) override { socket = opened.shared_from_this(); }
    void on_text(net::WebSocketSession&, std::span<char> text) override {
        frames.push_back(Value::parse({text.data(), text.size()}).value());
    }
    void on_closed(net::WebSocketSession&, const net::CloseInfo& info) override { closed = info; }

    std::vector<Value> of(std::string_view type) const {
        std::vector<Value> found;
        for (const Value& frame : frames) {
            if (text_of(frame, "type") == type) found.push_back(frame);
        }
        return found;
    }

    std::shared_ptr<net::WebSocketSession> socket;
    std::shared_ptr<DeviceSession> session;  ///< the gateway's end
    std::vector<Value> frames;
    std::optional<net::CloseInfo> closed;
};

/// The result of a call that a test started.
struct CallProbe {
    std::optional<core::Outcome> outcome;
    CancelSignal canceller;
    std::vector<core::Progress> progress;
};

class World {
public:
    /// Lists of tools are read on `lists`; null: inline.
    explicit World(FairPool* lists = nullptr)
        : hub({.clock = clock,
               .registry = registry,
               .rules = rules,
               .audit = audit,
               .chats = chats,
               .store_pool = pool,
               .schemas = lists,
               .turn_log = &told_turns},
              std::make_shared<const Options>(), [this](net::EventLoop&) { return &runner; }) {}
    ~World() {
        bool stopped = false;
        loop.post([&] {
            for (const auto& client : clients_) {
                if (client->socket) client->socket->abort();
            }
            hub.stop_chats([&] { stopped = true; });
        });
        while (!stopped) loop.run_some(1s);
        advance(10min);  // calls that still wait for a device give up
    }

    /// Runs the loop, its sockets and the pool until all are idle.
    void settle() {
        for (int hop = 0; hop < 8; ++hop) {
            bool done = false;
            pool.post([&] { loop.post([&] { done = true; }); });
            while (!done) loop.run_some(1s);
        }
    }
    template <class F>
    void on_loop(F function) {
        loop.post(std::move(function));
        settle();
    }
    void advance(Milliseconds by) {
        on_loop([this, by] {
            clock.advance(by);
            loop.timers().run_expired();
        });
    }

    static core::PrincipalRef make_principal(const std::string& name,
                                             core::Roles roles = {core::Role::kDevice,
                                                                  core::Role::kCaller}) {
        auto principal = std::make_shared<core::Principal>();
        principal->id = "device/" + name;
        principal->roles = roles;
        principal->proof = core::Proof::kBearerToken;
        principal->device = name;
        principal->credential_id = "token-" + name;
        return principal;
    }

    std::shared_ptr<Chat> open_chat(const std::string& session_id) {
        std::shared_ptr<Chat> chat;
        on_loop([&] {
            refs_.push_back(hub.open_chat(owner, session_id, "", "").value());
            chat = refs_.back().chat;
        });
        return chat;
    }
    /// Releases all references that open_chat() took.
    void release_chats() {
        on_loop([this] { release_chats_now(); });
    }
    void release_chats_now() {
        for (auto& opening : refs_) {
            opening.chat_ref.release();
            hub.settle_chat(opening.chat);
        }
        refs_.clear();
    }
    std::shared_ptr<FakeTarget> join(const std::shared_ptr<Chat>& chat) {
        auto target = std::make_shared<FakeTarget>(next_target_++);
        on_loop([&] { chat->join(target); });
        return target;
    }
    void ask(const std::shared_ptr<Chat>& chat, const std::shared_ptr<FakeTarget>& asker,
             const std::string& content, bool debug = false) {
        on_loop([&] {
            chat->ask({.asker = asker,
                       .content = content,
                       .regenerate = false,
                       .debug = debug,
                       .prefer_source = {},
                       .on_end = {}});
        });
    }
    void regenerate(const std::shared_ptr<Chat>& chat, const std::shared_ptr<FakeTarget>& asker) {
        on_loop([&] {
            chat->ask({.asker = asker,
                       .content = {},
                       .regenerate = true,
                       .debug = false,
                       .prefer_source = {},
                       .on_end = {}});
        });
    }
    /// `role: content` of each message that was stored.
    std::vector<std::string> stored(const std::string& session_id) {
        std::vector<std::string> lines;
        for (const auto& message : chats.messages(ChatSessionId(session_id)).value())
            lines.push_back(message.role + ": " + message.content);
        return lines;
    }

    /// A client of `principal` that is connected to this chat session.
    std::shared_ptr<Client> connect(const core::PrincipalRef& principal,
                                    const std::string& session_id) {
        auto client = std::make_shared<Client>();
        clients_.push_back(client);
        on_loop([&] {
            int ends[2];
            if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
                throw std::runtime_error("socketpair");
            auto opening = hub.open_chat(principal, session_id, "", "").value();
            DeviceSession::Caller caller{hub.enter(*principal).value(), principal};
            client->session = std::make_shared<DeviceSession>(hub, loop, parser, std::move(caller),
                                                              std::move(opening));
            attach(ends[0], net::WebSocketDecoder::Role::kServer, client->session);
            attach(ends[1], net::WebSocketDecoder::Role::kClient, client);
        });
        return client;
    }
    std::shared_ptr<Client> connect(const std::string& session_id = "s1") {
        return connect(owner, session_id);
    }
    void send(const std::shared_ptr<Client>& client, std::string_view frame) {
        on_loop([&] { client->socket->send_text(frame); });
    }
    void break_link(const std::shared_ptr<Client>& client) {
        on_loop([&] { client->socket->abort(); });
    }
    void say_goodbye(const std::shared_ptr<Client>& client) {
        on_loop([&] { client->socket->close(1000, ""); });
    }

    /// Starts a call of `caller` and lets it run until it waits.
    std::shared_ptr<CallProbe> start_call(const core::PrincipalRef& caller, const std::string& tool,
                                          const std::string& args = "{}",
                                          std::optional<Milliseconds> timeout = {}) {
        auto probe = std::make_shared<CallProbe>();
        on_loop([&] {
            spawn(
                loop.executor(), run_call(*this, probe, caller, tool, args, timeout),
                [](std::exception_ptr) {}, &probe->canceller);
        });
        return probe;
    }

    FakeClock clock;
    net::EventLoop loop{clock};
    core::ChatSessionMemory chats;
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
    ScriptedRunner runner;
    ToldTurns told_turns;
    json::Parser parser;
    const core::PrincipalRef owner = make_principal("phone");
    Hub hub;
    core::Pipeline pipeline{{.clock = clock,
                             .registry = registry,
                             .rules = rules,
                             .ledger = ledger,
                             .early_cancels = early_cancels,
                             .audit = audit},
                            loop.executor(),
                            loop.timers(),
                            loop.ids()};
    core::Pipeline* runs = &pipeline;  ///< what start_call() asks
    std::string key;  ///< of its calls

private:
    struct ProbeSink final : core::FrameSink {
        explicit ProbeSink(CallProbe& to) : probe(to) {}
        bool wants_progress() const override { return true; }
        void on_progress(const core::Progress& progress) override {
            probe.progress.push_back(progress);
        }
        CallProbe& probe;
    };
    static Task<void> run_call(World& world, std::shared_ptr<CallProbe> probe,
                               core::PrincipalRef caller, std::string tool, std::string args,
                               std::optional<Milliseconds> timeout) {
        core::Call call;
        call.tool = tool;
        call.args = args;
        call.timeout = timeout;
        call.front = "test";
        call.idempotency_key = world.key;
        ProbeSink sink(*probe);
        const core::AuthenticatedCall authenticated(call, caller);
        const core::CallEnd end = co_await world.runs->run(authenticated, sink);
        probe->outcome = *end.outcome;
    }
    void attach(int fd, net::WebSocketDecoder::Role role,
                std::shared_ptr<net::WebSocketHandler> handler) {
        static const net::ConnectionLimits limits;
        net::WebSocketOptions options;
        options.role = role;
        options.ping_after = 0ms;
        auto socket = std::make_shared<net::WebSocketSession>(options, std::move(handler));
        const auto connection = net::Connection::accepted(loop, fd, nullptr, limits, socket);
        socket->attach(*connection);
    }

    std::uint64_t next_target_ = 1'000;
    std::vector<std::shared_ptr<Client>> clients_;
    std::vector<Hub::ChatOpening> refs_;
};

/// One batch of calls, made as an agent makes it: all announced, all sent, all answered, then all
/// told.
struct Batch {
    struct Item {
        std::string id, tool, args, output;
    };
    World& world;
    std::vector<Item> items;
    std::size_t left = 0;
    Waiter done{world.loop.timers()};
    TaskGroup tasks{world.loop.executor()};

    Batch(World& at, std::vector<Item> calls) : world(at), items(std::move(calls)) {}

    Task<void> call(Item& item, core::PrincipalRef principal) {
        core::Call call;
        call.tool = item.tool;
        call.args = item.args;
        core::FrameSink nobody;
        const core::AuthenticatedCall authenticated(call, principal);
        const core::CallEnd end = co_await world.pipeline.run(authenticated, nobody);
        item.output = *end.outcome
                          ? (*end.outcome)->content
                          : fmt::format("Error: {}: {}", token_of(end.outcome->error().code),
                                        end.outcome->error().message);
        if (--left == 0) done.wake();
    }
    /// False when the turn was cancelled.
    Task<bool> run(const core::TurnRequest& request, core::TurnEvents& events) {
        for (const Item& item : items) events.on_tool_call(item.id, item.tool, item.args);
        left = items.size();
        for (Item& item : items) tasks.spawn("call", call(item, request.principal));
        const WaitEnd end = left == 0 ? WaitEnd::kWoken : co_await done.wait(kNoDeadline);
        if (end != WaitEnd::kWoken) {
            tasks.cancel();
            co_return false;
        }
        for (const Item& item : items) events.on_tool_result(item.id, item.tool, item.output);
        co_return true;
    }
};

}  // namespace crab::clawseed::test
