#include "cli/mcp_stdio.hpp"

#include "base/doubling_delay.hpp"
#include "base/task/spawn.hpp"
#include "base/task/waiter.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/terminal.hpp"
#include "json/value.hpp"
#include "net/codec/sse.hpp"
#include "net/http/http_client.hpp"
#include "net/loop/event_loop.hpp"
#include "net/loop/loop_thread.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <deque>
#include <limits>
#include <list>
#include <utility>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

namespace crab::cli {
namespace {

constexpr std::size_t kMaxLine = std::size_t{8} << 20;
constexpr std::size_t kMostAtOnce = 256;
constexpr std::chrono::seconds kLastAnswers{5};  // after the client's last word
/// Before a stream is opened again.
constexpr DoublingDelay kPauses{.first = std::chrono::seconds(1),
                                .longest = std::chrono::seconds(30)};
constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view kEvents = "text/event-stream";

/// What this has to know of a message that it copies.
struct SeenMessage {
    std::string method;
    std::optional<json::Value> id;
    bool odd_id = false;  ///< one that no answer can repeat
    bool modern = false;
    std::string cancels;  ///< the id that a modern client no longer waits for, as JSON

    static SeenMessage of(std::string_view line) {
        SeenMessage seen;
        const auto message = json::Value::parse(line, {.max_bytes = kMaxLine, .max_depth = 64});
        if (!message) return seen;
        if (const json::Value* const method = message->find("method");
            method && method->as_string())
            seen.method = *method->as_string();
        const json::Value* const id = message->find("id");
        if (id != nullptr && (id->as_string() != nullptr || id->as_int64())) {
            if (!seen.method.empty()) seen.id = *id;
        } else {
            seen.odd_id = id != nullptr;
        }
        const json::Value* const params = message->find("params");
        const json::Value* const meta = params != nullptr ? params->find("_meta") : nullptr;
        seen.modern = meta != nullptr && meta->find(kVersionKey) != nullptr;
        if (seen.method == "notifications/cancelled" && params != nullptr) {
            if (const json::Value* const what = params->find("requestId"))
                seen.cancels = what->dump();
        }
        return seen;
    }
};

constexpr int kInternalError = -32603, kInvalidRequest = -32600;

std::string error_line(const json::Value& id, std::string_view message, int code = kInternalError) {
    const json::Value error = json::Value::object({{"code", code}, {"message", message}});
    return json::Value::object({{"jsonrpc", "2.0"}, {"id", id}, {"error", error}}).dump();
}

/// Whether it is the result of a listen stream, which here the gateway has ended: the client's own
/// end is a notification, after which nothing comes.
bool ends_listening(const SeenMessage& seen, std::string_view message) {
    if (seen.method != "subscriptions/listen" || !seen.id) return false;
    const auto parsed = json::Value::parse(message, {.max_bytes = kMaxLine, .max_depth = 64});
    return parsed && parsed->find("result") != nullptr && parsed->find("method") == nullptr;
}

std::string cancelled_line(const json::Value& id) {
    const json::Value params =
        json::Value::object({{"requestId", id}, {"reason", "the gateway has ended it"}});
    return json::Value::object(
               {{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", params}})
        .dump();
}

}  // namespace

/// All but the reader of lines is on the loop's thread.
struct McpStdio::State {
    struct Running;

    State(GatewayEndpoint found, const std::string& scope, int descriptor)
        : place(std::move(found)),
          path(place.prefix + (scope.empty() ? "/mcp" : "/mcp/" + scope)),
          out(descriptor),
          http(loop, authority(),
               {.max_connections = kMostAtOnce,
                .max_waiting = 4 * kMostAtOnce,
                .max_body_bytes = kMaxLine,
                .idle = std::chrono::hours(24)}) {}

    net::HttpAuthority authority();
    void take(std::string line);
    bool has_running(const SeenMessage& seen) const;
    void begin(std::unique_ptr<Running> running);
    Task<void> exchange(Running& running);
    Task<net::HttpResult> send(Running& running);
    Task<void> listen(Running& running);
    void settle(Running& running, const net::HttpResult& result);
    void opened(const net::HttpReply& head);
    void opening_over(const Running& opening);
    bool hold(Running& running);
    void open_again();
    void write_line(std::string_view line);
    void no_more_lines();
    void stop_when_done();

    const GatewayEndpoint place;
    const std::string path;
    const int out;
    const RealClock clock;
    net::EventLoop loop{clock};
    const net::ConnectionLimits limits{.stall = std::chrono::hours(24)};
    net::HttpClient http;
    std::string session;  ///< of a legacy client, once it has opened one
    std::string opening_line;  ///< with which it did, for a gateway that was started anew
    bool opening = false;  ///< `initialize` has not been answered
    std::deque<std::unique_ptr<Running>> held;  ///< what is of the session that is being opened
    std::list<std::unique_ptr<Running>> running;
    bool ending = false;
};

/// One request to the gateway, and where its answer goes.
struct McpStdio::State::Running final : net::HttpBodySink {
    explicit Running(State& owner) : state(owner) {}

    bool takes(const net::HttpReply& head) override {
        if (seen.method == "initialize") state.opened(head);
        streams = head.find("content-type").value_or("").starts_with(kEvents);
        return streams;
    }
    bool on_body(std::string_view piece) override {
        for (auto event = events.next(piece); event.kind != net::SseEvent::Kind::kNeedMore;
             event = events.next(piece)) {
            if (event.kind == net::SseEvent::Kind::kRefused) return false;
            if (event.data.empty()) continue;
            if (ends_listening(seen, event.data)) state.write_line(cancelled_line(*seen.id));
            if (!silent) state.write_line(event.data);
            answered = true;
        }
        return true;
    }
    Milliseconds patience() const override { return std::chrono::hours(24); }
    /// Is open for as long as the client is there.
    bool endless() const { return method != "POST" || seen.method == "subscriptions/listen"; }

    State& state;
    std::string method = "POST", line, session;
    SeenMessage seen;
    net::SseParser events{kMaxLine};
    bool streams = false, answered = false;
    bool silent = false;  ///< the client has not asked for it
    bool again = false;  ///< in a session that was opened anew for it
    bool cancelled = false;  ///< by the client, which may use its id for another one
    CancelSignal cancel;
};

net::HttpAuthority McpStdio::State::authority() {
    net::HttpAuthority made;
    made.host = place.host;
    made.find_server = [this](Deadline) -> Task<Result<net::DialTarget>> {
        auto addresses = net::resolve(place.endpoint);
        if (!addresses) co_return fail(std::move(addresses.error()));
        net::DialTarget target;
        target.addresses = std::move(*addresses);
        target.tls = place.tls;
        target.server_name = place.server_name;
        target.text = place.text;
        target.limits = &limits;
        co_return target;
    };
    return made;
}

void McpStdio::State::write_line(std::string_view line) {
    std::string text(line);
    // JSON has line ends between its tokens only, where a blank means the same.
    std::ranges::replace(text, '\n', ' ');
    std::ranges::replace(text, '\r', ' ');
    text += '\n';
    std::string_view rest = text;
    while (!rest.empty()) {
        const ssize_t wrote = ::write(out, rest.data(), rest.size());
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return no_more_lines();
        rest.remove_prefix(static_cast<std::size_t>(wrote));
    }
}

void McpStdio::State::take(std::string line) {
    auto made = std::make_unique<Running>(*this);
    made->seen = SeenMessage::of(line);
    made->line = std::move(line);
    made->session = made->seen.modern ? std::string() : session;
    // What follows `initialize` at once is of the session that this opens.
    if (opening && !made->seen.modern) {
        if (held.size() < kMostAtOnce) return held.push_back(std::move(made));
        if (made->seen.id)
            write_line(error_line(*made->seen.id, "too many requests before the session is open"));
        return;
    }
    if (made->seen.method == "initialize" && !made->seen.modern) {
        opening = true;
        opening_line = made->line;
        return begin(std::move(made));
    }
    // Over HTTP a modern client cancels by closing the answer, which is what becomes of its word.
    if (!made->seen.cancels.empty() && session.empty()) {
        for (const auto& one : running) {
            if (one->seen.id && one->seen.id->dump() == made->seen.cancels) {
                one->answered = one->cancelled = true;  // and gets none
                one->cancel.emit();
                return;
            }
        }
        return;
    }
    // Those of a session are the gateway's to know.
    if (made->seen.modern && has_running(made->seen))
        return write_line(
            error_line(*made->seen.id, "a request with this id still runs", kInvalidRequest));
    begin(std::move(made));
}

/// Whether a request runs whose answer that to this one could be taken for.
bool McpStdio::State::has_running(const SeenMessage& seen) const {
    if (!seen.id) return false;
    const std::string id = seen.id->dump();
    return std::ranges::any_of(running, [&](const auto& one) {
        return one->seen.id && !one->cancelled && one->seen.id->dump() == id;
    });
}

void McpStdio::State::begin(std::unique_ptr<Running> made) {
    if (running.size() >= 2 * kMostAtOnce && made->seen.id)
        return write_line(error_line(*made->seen.id, "too many requests at once; wait for some"));
    const auto place_in_list = running.insert(running.end(), std::move(made));
    Running& one = **place_in_list;
    spawn(
        loop.executor(), exchange(one),
        [this, place_in_list](const std::exception_ptr&) {
            const std::unique_ptr<Running> ended = std::move(*place_in_list);
            running.erase(place_in_list);
            if (ended->seen.method == "initialize") opening_over(*ended);
            stop_when_done();
        },
        &one.cancel);
}

Task<void> McpStdio::State::exchange(Running& one) {
    if (one.method == "GET") co_return co_await listen(one);
    const net::HttpResult result = co_await send(one);
    // A gateway that was started anew has no sessions: nothing of this has run.
    if (result && result->status == 404 && hold(one)) co_return;
    settle(one, result);
}

/// The stream of what comes outside of requests, which is opened again when it breaks.
Task<void> McpStdio::State::listen(Running& one) {
    Waiter waiter(loop.timers());
    for (std::uint64_t breaks = 0; !ending && one.session == session;) {
        const SteadyTime begun = loop.now();
        const net::HttpResult result = co_await send(one);
        if (!result && result.error().error.code == ErrorCode::kCancelled) co_return;
        if (result && result->status == 404) {
            if (one.session == session) open_again();
            co_return;
        }
        if (result && result->status == 400) one.events = net::SseParser(kMaxLine);
        breaks = loop.now() - begun > kPauses.longest ? 1 : breaks + 1;
        if (co_await waiter.wait(loop.now() + kPauses.after(breaks)) == WaitEnd::kCancelled)
            co_return;
    }
}

Task<net::HttpResult> McpStdio::State::send(Running& one) {
    std::vector<net::HttpHeader> headers{
        {"Accept", one.method == "GET" ? kEvents : "application/json, text/event-stream"}};
    if (!one.session.empty()) headers.push_back({"Mcp-Session-Id", one.session});
    const std::string last_id = one.events.last_id();
    if (one.method == "GET" && !last_id.empty()) headers.push_back({"Last-Event-ID", last_id});
    const net::HttpCall call{
        .method = one.method,
        .target = path,
        .content_type = one.method == "POST" ? "application/json" : std::string_view(),
        .body = one.line,
        .headers = headers,
        .sink = &one,
        .max_body_bytes = std::numeric_limits<std::uint64_t>::max()};
    co_return co_await http.send(call, kNoDeadline);
}

/// Keeps a message for the session that is opened in the place of its own; false when there is
/// none to be opened.
bool McpStdio::State::hold(Running& one) {
    if (one.session.empty() || one.again || one.method != "POST" || ending) return false;
    if (one.session == session) open_again();
    auto made = std::make_unique<Running>(*this);
    made->line = std::move(one.line);
    made->seen = one.seen;
    made->again = true;
    if (opening) {
        held.push_back(std::move(made));
    } else {  // it is open already
        made->session = session;
        loop.post([this, kept = std::make_shared<std::unique_ptr<Running>>(std::move(made))] {
            begin(std::move(*kept));
        });
    }
    return true;
}

/// The client's `initialize` once more, unseen by it.
void McpStdio::State::open_again() {
    session.clear();
    opening = true;
    auto made = std::make_unique<Running>(*this);
    made->line = opening_line;
    made->seen = SeenMessage::of(opening_line);
    made->silent = true;
    loop.post([this, kept = std::make_shared<std::unique_ptr<Running>>(std::move(made))] {
        begin(std::move(*kept));
    });
}

void McpStdio::State::opening_over(const Running& one) {
    opening = false;
    if (one.silent && !session.empty()) {
        auto ready = std::make_unique<Running>(*this);
        ready->line = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";
        ready->session = session;
        begin(std::move(ready));
        // What has changed meanwhile nobody has told.
        for (const std::string_view list : {"tools", "resources", "prompts"})
            write_line(fmt::format(
                R"({{"jsonrpc":"2.0","method":"notifications/{}/list_changed"}})", list));
    }
    for (auto& each : std::exchange(held, {})) {
        each->session = session;
        begin(std::move(each));
    }
}

/// Every request gets an answer, whatever became of it here.
void McpStdio::State::settle(Running& one, const net::HttpResult& result) {
    if (one.silent) return;
    if (!one.seen.id) {
        // What was no message, or several, is answered as the gateway says.
        const bool answered = one.seen.method.empty() || one.seen.odd_id;
        if (result && answered && !one.streams && !result->body.empty()) write_line(result->body);
        return;
    }
    if (result && !one.streams) {
        const auto body =
            json::Value::parse(result->body, {.max_bytes = kMaxLine, .max_depth = 128});
        const json::Value* const id = body ? body->find("id") : nullptr;
        if (id != nullptr && !id->is_null()) return write_line(result->body);
        const json::Value* const error = body ? body->find("error") : nullptr;
        const json::Value* const said =
            error != nullptr && error->is_object() ? error->find("message") : error;
        const json::Value* const code = error != nullptr ? error->find("code") : nullptr;
        return write_line(
            error_line(*one.seen.id,
                       said != nullptr && said->as_string() != nullptr
                           ? *said->as_string()
                           : fmt::format("the gateway answered with {}", result->status),
                       static_cast<int>(code != nullptr ? code->as_int64().value_or(kInternalError)
                                                        : kInternalError)));
    }
    if (one.answered) return;
    const std::string why = result ? "the gateway ended the answer" : result.error().error.message;
    write_line(
        error_line(*one.seen.id,
                   fmt::format("cannot reach the gateway at {}: {}; start it with crab gateway run",
                               place.text, why)));
}

/// A legacy client has a session from here on, and a stream of what comes outside of requests.
void McpStdio::State::opened(const net::HttpReply& head) {
    const auto id = head.find("mcp-session-id");
    if (!id || head.status != 200) return;
    session = *id;
    auto stream = std::make_unique<Running>(*this);
    stream->method = "GET";
    stream->session = session;
    loop.post([this, made = std::make_shared<std::unique_ptr<Running>>(std::move(stream))] {
        if (!ending) begin(std::move(*made));
    });
}

void McpStdio::State::no_more_lines() {
    if (std::exchange(ending, true)) return;
    loop.post([this] {
        std::vector<Running*> endless;
        for (const auto& one : running) {
            if (one->endless()) endless.push_back(one.get());
        }
        for (Running* const one : endless) {
            one->answered = true;
            one->cancel.emit();
        }
        stop_when_done();
    });
}

void McpStdio::State::stop_when_done() {
    if (!ending || !running.empty()) return;
    if (session.empty()) {
        http.close();
        return loop.stop();
    }
    auto bye = std::make_unique<Running>(*this);
    bye->method = "DELETE";
    bye->session = std::exchange(session, {});
    begin(std::move(bye));
}

McpStdio::McpStdio(GatewayEndpoint place, const std::string& scope, int out)
    : state_(std::make_unique<State>(std::move(place), scope, out)) {}
McpStdio::~McpStdio() = default;

void McpStdio::run(int in) {
    net::LoopThread loop_thread(state_->loop);
    std::string begun, piece(std::size_t{64} << 10, '\0');
    bool skipping = false;  // the rest of a line that is too long
    while (true) {
        const ssize_t got = ::read(in, piece.data(), piece.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        begun.append(piece, 0, static_cast<std::size_t>(got));
        std::size_t from = 0;
        for (std::size_t end = begun.find('\n'); end != std::string::npos;
             end = begun.find('\n', from)) {
            std::string line = begun.substr(from, end - from);
            from = end + 1;
            if (std::exchange(skipping, false)) continue;
            if (line.ends_with('\r')) line.pop_back();
            if (line.empty()) continue;
            state_->loop.post(
                [this, text = std::move(line)]() mutable { state_->take(std::move(text)); });
        }
        begun.erase(0, from);
        if (begun.size() <= kMaxLine) continue;
        // Its id is not read: a client has to learn that there will be no answer to something.
        if (!std::exchange(skipping, true))
            state_->loop.post([this] {
                state_->write_line(error_line({}, "the line is too long", kInvalidRequest));
            });
        begun.clear();
    }
    state_->loop.post([this] { state_->no_more_lines(); });
    // Who has closed its input waits for what it asked, but not for long.
    std::signal(SIGALRM, [](int) { ::_exit(kExitOk); });
    ::alarm(static_cast<unsigned>(kLastAnswers.count()));
    loop_thread.join();
    ::alarm(0);
}

int run(const McpServe& options) {
    auto place = find_gateway(options.target);
    if (!place) {
        complain(place.error().message);
        return exit_code_of(place.error().code);
    }
    McpStdio(std::move(*place), options.scope, STDOUT_FILENO).run(STDIN_FILENO);
    return kExitOk;
}

}  // namespace crab::cli
