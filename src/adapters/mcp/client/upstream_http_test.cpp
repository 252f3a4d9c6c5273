#include "adapters/mcp/client/test_support.hpp"

#include "json/raw_parts.hpp"

#include <map>
#include <set>

/// Upstreams behind HTTP, some of them hostile: all three transports and the probe.
namespace crab::mcp {
namespace {

using namespace std::chrono_literals;
using net::HttpExchange;

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kSse = "text/event-stream";
constexpr std::string_view kDiscovered =
    R"({"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}})";
constexpr std::string_view kInitialized =
    R"({"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"fake"}})";

/// Answers as the test says; notes all requests.
class Server final : public net::HttpService {
public:
    using Serve = std::function<Task<void>(HttpExchange&, std::string_view id)>;

    Task<void> serve(HttpExchange& exchange) override {
        const net::HttpRequest& request = exchange.request();
        std::string note(request.method());
        const std::string_view body = request.body;
        const std::string method = json::find_raw_string(body, "method").value_or("");
        if (!method.empty()) note += " " + method;
        for (const std::string_view name : headers_noted) {
            if (const auto value = request.find(name)) note += " " + std::string(*value);
        }
        {
            const std::scoped_lock lock(mutex);
            seen.push_back(note);
        }
        const std::string key = method.empty() ? std::string(request.method()) : method;
        const auto it = answers.find(key);
        const std::string id(json::find_raw(body, "id").value_or("null"));
        if (it == answers.end()) {
            exchange.respond(key == "GET"                        ? 405
                             : key.starts_with("notifications/") ? 202
                                                                 : 400,
                             "text/plain", "");
            co_return;
        }
        co_await it->second(exchange, id);
    }
    std::vector<std::string> all_seen() {
        const std::scoped_lock lock(mutex);
        return seen;
    }
    bool saw(std::string_view note) {
        const auto all = all_seen();
        return std::ranges::find(all, note) != all.end();
    }

    std::map<std::string, Serve> answers;
    std::vector<std::string_view> headers_noted{"mcp-protocol-version", "mcp-session-id",
                                                "last-event-id"};

private:
    std::mutex mutex;
    std::vector<std::string> seen;
};

std::string result_of(std::string_view id, std::string_view result) {
    return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":)" + std::string(result) +
           "}";
}
std::string event_of(std::string_view message, std::string_view id = {}) {
    return "event: message\n" + (id.empty() ? "" : "id: " + std::string(id) + "\n") +
           "data: " + std::string(message) + "\n\n";
}
Server::Serve json_answer(std::string result, net::OwnedHeaders extra = {}) {
    return [=](HttpExchange& exchange, std::string_view id) -> Task<void> {
        std::vector<net::HttpHeader> headers;
        for (const auto& [name, value] : extra) headers.push_back({name, value});
        exchange.respond(200, kJson, result_of(id, result), headers);
        co_return;
    };
}
Server::Serve status_answer(int status, std::string body = {}, net::OwnedHeaders extra = {}) {
    return [=](HttpExchange& exchange, std::string_view) -> Task<void> {
        std::vector<net::HttpHeader> headers;
        for (const auto& [name, value] : extra) headers.push_back({name, value});
        exchange.respond(status, kJson, body, headers);
        co_return;
    };
}
/// Writes events and leaves the stream open, or ends it.
Server::Serve stream_answer(std::function<std::string(std::string_view id)> events, bool ends) {
    return [=](HttpExchange& exchange, std::string_view id) -> Task<void> {
        exchange.start_stream(200, kSse);
        exchange.write_chunk(events(id));
        if (ends) {
            exchange.end_stream();
            co_return;
        }
        Waiter for_ever(exchange.loop().timers());
        co_await for_ever.wait(kNoDeadline);
    };
}

class McpUpstreamHttp : public test::ClientTest {
protected:
    ~McpUpstreamHttp() override {
        if (session) wait(std::exchange(session, nullptr)->close());
    }
    UpstreamOptions options() {
        UpstreamOptions options = base_options();
        options.url = "http://" + peer.endpoint().text() + "/mcp";
        return options;
    }
    void modern() { server.answers["server/discover"] = json_answer(std::string(kDiscovered)); }
    void legacy(net::OwnedHeaders extra = {{"Mcp-Session-Id", "s1"}}) {
        server.answers["initialize"] = json_answer(std::string(kInitialized), extra);
        server.answers["DELETE"] = status_answer(204);
    }

    Server server;
    net::test::ServerThread peer{clock, server};
};

TEST_F(McpUpstreamHttp, AModernRequestSaysItsHeadersAndNothingOfTheClient) {
    modern();
    server.headers_noted = {"mcp-protocol-version", "mcp-method", "mcp-name", "mcp-param-region",
                            "authorization",        "cookie",     "accept",   "content-type"};
    server.answers["tools/call"] = json_answer(R"({"resultType":"complete","content":[]})");
    UpstreamOptions with = options();
    with.headers = {{"Authorization", "Bearer own"}};
    connect(std::move(with));
    EXPECT_EQ(session->found(), (FoundEra{FoundEra::Form::kModern, Revision::k2026_07_28}));
    UpstreamRequest request = call("grüße");
    request.param_headers = {{"Mcp-Param-Region", "eu"}};
    EXPECT_EQ(outcome(std::move(request)), R"({"resultType":"complete","content":[]})");
    EXPECT_TRUE(
        server.saw("POST tools/call 2026-07-28 tools/call =?base64?Z3LDvMOfZQ==?= eu "
                   "Bearer own application/json, text/event-stream application/json"))
        << server.all_seen().back();
}

TEST_F(McpUpstreamHttp, AStreamBringsProgressAndTheResultThoughItStaysOpen) {
    modern();
    const auto events = [](std::string_view id) {
        return ": hello\n\n" +
               event_of(R"({"jsonrpc":"2.0","method":"notifications/progress","params":)"
                        R"({"progressToken":)" +
                        std::string(id) + R"(,"progress":1,"message":"half"}})") +
               event_of(result_of("99", "{}")) + event_of(result_of(id, R"({"a":1})")) +
               event_of(result_of(id, R"({"a":2})"));
    };
    for (const bool ends : {false, true}) {
        server.answers["tools/call"] = stream_answer(events, ends);
        if (!session) connect(options());
        const auto began = clock.steady_now();
        EXPECT_EQ(outcome(call("x")), R"({"a":1})");
        EXPECT_LT(clock.steady_now() - began, 10s);
    }
    EXPECT_EQ(told.all, (std::vector<std::string>{"progress half", "progress half"}));
}

TEST_F(McpUpstreamHttp, ALegacySessionSaysItsIdAndEndsWithADelete) {
    legacy();
    server.answers["tools/call"] = json_answer("{}");
    connect(options());
    EXPECT_EQ(session->found(), (FoundEra{FoundEra::Form::kLegacy, Revision::k2025_11_25}));
    EXPECT_EQ(outcome(call("x")), "{}");
    wait(std::exchange(session, nullptr)->close());
    EXPECT_TRUE(server.saw("POST server/discover 2026-07-28"));
    EXPECT_TRUE(server.saw("POST initialize"));
    EXPECT_TRUE(server.saw("POST notifications/initialized 2025-11-25 s1"));
    EXPECT_TRUE(server.saw("POST tools/call 2025-11-25 s1"));
    EXPECT_TRUE(server.saw("DELETE 2025-11-25 s1"));
}

TEST_F(McpUpstreamHttp, TheStreamOfASessionBringsChanges) {
    legacy();
    std::atomic<bool> listening = false;
    server.answers["GET"] = [&](HttpExchange& exchange, std::string_view) -> Task<void> {
        exchange.start_stream(200, kSse);
        Waiter pause(exchange.loop().timers());
        while (!listening) {
            if (co_await pause.wait(clock.steady_now() + 5ms) == WaitEnd::kCancelled) co_return;
        }
        exchange.write_chunk(
            event_of(R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})"));
        co_await pause.wait(kNoDeadline);
    };
    connect(options());
    listening = true;
    EXPECT_EQ(heard.next(), "notifications/tools/list_changed ");
    wait(std::exchange(session, nullptr)->close());
}

TEST_F(McpUpstreamHttp, ABrokenStreamIsResumedAfterItsLastEvent) {
    legacy();
    std::string id_of_call;
    server.answers["tools/call"] = [&](HttpExchange& exchange, std::string_view id) -> Task<void> {
        id_of_call = id;
        exchange.start_stream(200, kSse);
        exchange.write_chunk("id: p-1\nretry: 10\ndata:\n\n");
        exchange.end_stream();
        co_return;
    };
    server.answers["GET"] = [&](HttpExchange& exchange, std::string_view) -> Task<void> {
        if (!exchange.request().find("last-event-id")) {
            exchange.respond(405, "text/plain", "");
            co_return;
        }
        exchange.start_stream(200, kSse);
        exchange.write_chunk(event_of(result_of(id_of_call, R"({"late":1})"), "p-2"));
        exchange.end_stream();
    };
    connect(options());
    EXPECT_EQ(outcome(call("x")), R"({"late":1})");
    EXPECT_TRUE(server.saw("GET 2025-11-25 s1 p-1"));
}

TEST_F(McpUpstreamHttp, AServerThatWantsNoPauseBetweenStreamsGetsOne) {
    legacy();
    std::atomic<int> streams = 0;
    server.answers["GET"] = [&](HttpExchange& exchange, std::string_view) -> Task<void> {
        ++streams;
        exchange.start_stream(200, kSse);
        exchange.write_chunk("retry: 0\ndata:\n\n");
        exchange.end_stream();
        co_return;
    };
    connect(options());
    const auto began = clock.steady_now();
    while (streams < 3 && clock.steady_now() - began < 20s) std::this_thread::sleep_for(5ms);
    EXPECT_GE(clock.steady_now() - began, 200ms) << "100 ms at least, however often it says 0";
    wait(std::exchange(session, nullptr)->close());
}

TEST_F(McpUpstreamHttp, AQuestionOnTheStreamOfACallGoesToItsCaller) {
    legacy();
    std::string answered;
    Waiter* waiting = nullptr;
    server.answers["tools/call"] = [&](HttpExchange& exchange, std::string_view id) -> Task<void> {
        const std::string own(id);
        exchange.start_stream(200, kSse);
        exchange.write_chunk(event_of(R"({"jsonrpc":"2.0","id":"q","method":"elicitation/create",)"
                                      R"("params":{"message":"Who?"}})"));
        Waiter until(exchange.loop().timers());
        waiting = &until;
        co_await until.wait(clock.steady_now() + 20s);
        exchange.write_chunk(event_of(result_of(own, answered)));
        exchange.end_stream();
    };
    server.answers["POST"] = [&](HttpExchange& exchange, std::string_view) -> Task<void> {
        answered = exchange.request().body;
        exchange.respond(202, "", "");
        if (waiting != nullptr) waiting->wake();
        co_return;
    };
    connect(options(), person.can);
    EXPECT_EQ(
        outcome(call("x")),
        R"({"jsonrpc":"2.0","id":"q","result":{"action":"accept","content":{"name":"Ada"}}})");
    EXPECT_EQ(person.asked.size(), 1u);
}

TEST_F(McpUpstreamHttp, AQuestionOnTheStreamOfTheSessionGoesToItsOnlyCall) {
    legacy();
    std::atomic<bool> is_called = false;
    std::atomic<bool> is_asked = false;
    std::string answered;
    server.answers["GET"] = [&](HttpExchange& exchange, std::string_view) -> Task<void> {
        exchange.start_stream(200, kSse);
        Waiter pause(exchange.loop().timers());
        while (!is_called) {
            if (co_await pause.wait(clock.steady_now() + 5ms) == WaitEnd::kCancelled) co_return;
        }
        exchange.write_chunk(event_of(R"({"jsonrpc":"2.0","id":"q","method":"elicitation/create",)"
                                      R"("params":{"message":"Who?"}})"));
        co_await pause.wait(kNoDeadline);
    };
    server.answers["tools/call"] = [&](HttpExchange& exchange, std::string_view id) -> Task<void> {
        const std::string own(id);
        Waiter until(exchange.loop().timers());
        is_called = true;
        while (!is_asked) {
            if (co_await until.wait(clock.steady_now() + 5ms) == WaitEnd::kCancelled) co_return;
        }
        exchange.respond(200, "application/json", result_of(own, answered));
    };
    server.answers["POST"] = [&](HttpExchange& exchange, std::string_view) -> Task<void> {
        answered = exchange.request().body;
        exchange.respond(202, "", "");
        is_asked = true;
        co_return;
    };
    connect(options(), person.can);
    EXPECT_EQ(
        outcome(call("x")),
        R"({"jsonrpc":"2.0","id":"q","result":{"action":"accept","content":{"name":"Ada"}}})");
    wait(std::exchange(session, nullptr)->close());
    is_called = false;
    is_asked = false;
    connect(options());
    EXPECT_NE(outcome(call("x")).find("-32603"), std::string::npos) << "a session of many callers";
    EXPECT_EQ(person.asked.size(), 1u);
    wait(std::exchange(session, nullptr)->close());
}

TEST_F(McpUpstreamHttp, A404EndsTheSessionAndTheRequestDidNotRun) {
    legacy();
    server.answers["tools/call"] =
        status_answer(404, R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"?"}})");
    connect(options());
    EXPECT_EQ(outcome(call("x")), "error UNAVAILABLE");
    EXPECT_EQ(heard.next(), "end the MCP server has forgotten the session");
    EXPECT_FALSE(loop.run([this] { return session->is_open(); }));
}

TEST_F(McpUpstreamHttp, AnAnswerOfAnotherEraEndsTheSessionAndTheRequestDidNotRun) {
    const auto refusal = [](int code) {
        return [code](HttpExchange& exchange, std::string_view id) -> Task<void> {
            exchange.respond(400, "application/json",
                             R"({"jsonrpc":"2.0","id":)" + std::string(id) +
                                 R"(,"error":{"code":)" + std::to_string(code) +
                                 R"(,"message":"no"}})");
            co_return;
        };
    };
    const auto ends = [&](int code) {
        server.answers["tools/call"] = refusal(code);
        connect(options());
        EXPECT_EQ(outcome(call("x")), "error UNAVAILABLE") << code;
        EXPECT_EQ(heard.next(), "end the MCP server speaks another version by now");
        wait(std::exchange(session, nullptr)->close());
    };
    modern();
    for (const int code : {-32000, -32600, -32022}) ends(code);
    server.answers["tools/call"] = refusal(-32021);
    connect(options());
    EXPECT_EQ(outcome(call("x")), "rpc -32021");
    wait(std::exchange(session, nullptr)->close());
    server.answers.erase("server/discover");
    legacy();
    for (const int code : {-32020, -32602, -32022}) ends(code);
}

TEST_F(McpUpstreamHttp, ClosingTheConnectionCancelsAModernCall) {
    modern();
    std::promise<void> began, left;
    server.answers["tools/call"] = [&](HttpExchange& exchange, std::string_view) -> Task<void> {
        exchange.start_stream(200, kSse);
        exchange.write_chunk(":\n\n");
        began.set_value();
        Waiter for_ever(exchange.loop().timers());
        co_await for_ever.wait(kNoDeadline);
        left.set_value();
    };
    connect(options());
    CancelSignal signal;
    auto calling = begin(session->request(call("x")), &signal);
    began.get_future().wait();
    loop.run([&] { signal.emit(); });
    EXPECT_EQ(calling.get().error().code, ErrorCode::kCancelled);
    EXPECT_EQ(left.get_future().wait_for(20s), std::future_status::ready);
    for (const std::string& note : server.all_seen())
        EXPECT_EQ(note.find("cancelled"), std::string::npos);
}

TEST_F(McpUpstreamHttp, CancellingALegacyCallSendsANotification) {
    legacy();
    std::promise<void> began;
    std::promise<std::string> told_server;
    server.answers["tools/call"] = [&](HttpExchange& exchange, std::string_view) -> Task<void> {
        began.set_value();
        Waiter for_ever(exchange.loop().timers());
        co_await for_ever.wait(kNoDeadline);
    };
    server.answers["notifications/cancelled"] = [&](HttpExchange& exchange,
                                                    std::string_view) -> Task<void> {
        told_server.set_value(std::string(exchange.request().body));
        exchange.respond(202, "", "");
        co_return;
    };
    connect(options());
    CancelSignal signal;
    auto calling = begin(session->request(call("x")), &signal);
    began.get_future().wait();
    loop.run([&] { signal.emit(); });
    EXPECT_EQ(calling.get().error().code, ErrorCode::kCancelled);
    EXPECT_NE(told_server.get_future().get().find(R"("requestId":3)"), std::string::npos);
}

TEST_F(McpUpstreamHttp, ABrokenCallIsInDoubtAndARepeatableOneIsSentOnceMore) {
    modern();
    std::atomic<int> calls = 0;
    server.answers["tools/call"] = [&](HttpExchange& exchange, std::string_view id) -> Task<void> {
        if (++calls == 3) {
            exchange.respond(200, kJson, result_of(id, R"({"n":3})"));
            co_return;
        }
        exchange.start_stream(200, kSse);
        exchange.end_stream();
    };
    connect(options());
    EXPECT_EQ(outcome(call("x")), "error OUTCOME_UNKNOWN");
    UpstreamRequest safe = call("x");
    safe.may_repeat = true;
    EXPECT_EQ(outcome(std::move(safe)), R"({"n":3})");
}

TEST_F(McpUpstreamHttp, RefusalsSayWhetherItRan) {
    modern();
    connect(options());
    server.answers["tools/call"] = status_answer(503, "", {{"Retry-After", "7"}});
    const auto busy = ask(call("x"));
    ASSERT_FALSE(busy);
    EXPECT_EQ(busy.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(busy.error().retry_after, 7s);
    server.answers["tools/call"] = status_answer(503);
    EXPECT_EQ(outcome(call("x")), "error OUTCOME_UNKNOWN") << "a proxy may say it of a dead server";
    server.answers["tools/call"] = status_answer(429, "", {{"Retry-After", "3"}});
    const auto limited = ask(call("x"));
    ASSERT_FALSE(limited);
    EXPECT_EQ(limited.error().code, ErrorCode::kRateLimited);
    EXPECT_EQ(limited.error().retry_after, 3s);
    server.answers["tools/call"] = status_answer(500);
    EXPECT_EQ(outcome(call("x")), "error OUTCOME_UNKNOWN");
    server.answers["tools/call"] = status_answer(307, "", {{"Location", "http://other.example/"}});
    EXPECT_EQ(outcome(call("x")), "error TOOL_FAILED");
    server.answers["tools/call"] = status_answer(200, "<html>");
    EXPECT_EQ(outcome(call("x")), "error TOOL_FAILED");
    server.answers["tools/call"] = status_answer(
        400, R"({"jsonrpc":"2.0","id":8,"error":{"code":-32020,"message":"Mcp-Param-A"}})");
    EXPECT_EQ(outcome(call("x")), "rpc -32020");
}

TEST_F(McpUpstreamHttp, AnAnswerAboveTheLimitIsOversize) {
    modern();
    UpstreamOptions small = options();
    small.max_reply = 2'000;
    connect(std::move(small));
    const std::string large = R"({"x":")" + std::string(3'000, 'x') + R"("})";
    server.answers["tools/call"] = json_answer(large);
    EXPECT_EQ(outcome(call("x")), "error OVERSIZE");
    server.answers["tools/call"] = stream_answer(
        [large](std::string_view id) { return event_of(result_of(id, large)); }, false);
    EXPECT_EQ(outcome(call("x")), "error OVERSIZE");
}

/// Gives `first`, and after a challenge `second`.
class Tokens final : public Authorizer {
public:
    Task<Result<std::optional<std::string>>> authorization(const UpstreamOptions&,
                                                           std::optional<RefusedCredential> refused,
                                                           Deadline deadline) override {
        deadlines.push_back(deadline);
        if (refused) {
            challenges.push_back(refused->challenge + " for " + refused->value);
            value = second;
        }
        co_return value;
    }
    std::optional<std::string> value = "Bearer first";
    std::optional<std::string> second = "Bearer second";
    std::vector<std::string> challenges;
    std::vector<Deadline> deadlines;
};

TEST_F(McpUpstreamHttp, ARefusedCredentialIsReplacedOnce) {
    modern();
    server.answers["tools/call"] = [](HttpExchange& exchange, std::string_view id) -> Task<void> {
        if (exchange.request().find("authorization") == "Bearer second")
            exchange.respond(200, kJson, result_of(id, "{}"));
        else
            exchange.respond(401, kJson, "{}", {{"WWW-Authenticate", "Bearer scope=\"a\""}});
        co_return;
    };
    Tokens tokens;
    McpConnector with({.loop = loop.loop, .names = names, .tls = nullptr, .authorizer = &tokens});
    auto opened = begin(with.connect(options(), {})).get();
    ASSERT_TRUE(opened);
    session = *opened;
    EXPECT_EQ(outcome(call("x")), "{}");
    tokens.second = tokens.value = "Bearer bad";
    EXPECT_EQ(outcome(call("x")), "error AUTH_REQUIRED");
    EXPECT_EQ(tokens.challenges, (std::vector<std::string>{"Bearer scope=\"a\" for Bearer first",
                                                           "Bearer scope=\"a\" for Bearer bad"}));
}

TEST_F(McpUpstreamHttp, TheProbeConcludesNothingFromFailures) {
    server.answers["server/discover"] = status_answer(503);
    EXPECT_EQ(try_to_connect(options()).error().code, ErrorCode::kUnavailable);
    server.answers["server/discover"] = status_answer(401);
    EXPECT_EQ(try_to_connect(options()).error().code, ErrorCode::kAuthRequired);
    EXPECT_FALSE(server.saw("POST initialize"));
    UpstreamOptions nobody = base_options();
    nobody.url = "http://127.0.0.1:1/mcp";
    EXPECT_EQ(try_to_connect(std::move(nobody)).error().code, ErrorCode::kUnavailable);
    server.answers["server/discover"] =
        status_answer(400, R"({"jsonrpc":"2.0","error":{"code":-32022,"message":"?",)"
                           R"("data":{"supported":["2030-01-01"]}}})");
    EXPECT_EQ(try_to_connect(options()).error().code, ErrorCode::kToolFailed);
}

TEST_F(McpUpstreamHttp, AServerOfTheOldestRevisionIsFoundByItsEndpoint) {
    HttpExchange* stream = nullptr;
    server.answers["GET"] = [&](HttpExchange& exchange, std::string_view) -> Task<void> {
        exchange.start_stream(200, kSse);
        exchange.write_chunk("event: endpoint\ndata: messages?session=1\n\n");
        stream = &exchange;
        Waiter for_ever(exchange.loop().timers());
        co_await for_ever.wait(kNoDeadline);
        stream = nullptr;
    };
    const auto over_the_stream = [&](std::string result) {
        return [&stream, result](HttpExchange& exchange, std::string_view id) -> Task<void> {
            if (exchange.request().target() != "/messages?session=1") {
                exchange.respond(405, "text/plain", "");
                co_return;
            }
            exchange.respond(202, "text/plain", "Accepted");
            stream->write_chunk(event_of(result_of(id, result)));
        };
    };
    server.answers["initialize"] =
        over_the_stream(R"({"protocolVersion":"2024-11-05","capabilities":{}})");
    server.answers["tools/call"] = over_the_stream(R"({"sse":1})");
    connect(options());
    EXPECT_EQ(session->found(), (FoundEra{FoundEra::Form::kSse, Revision::k2024_11_05}));
    EXPECT_EQ(outcome(call("x")), R"({"sse":1})");
    UpstreamOptions known = options();
    known.known = session->found();
    const auto again = try_to_connect(std::move(known));
    ASSERT_TRUE(again) << again.error().message;
    wait((*again)->close());
}

/// Of the oldest revision; it takes a call's POST and does not answer it.
class McpHeldPost : public McpUpstreamHttp {
protected:
    /// On its loop: what comes of a call on the stream, or nothing, and the stream is ended.
    void serve(std::string result) {
        server.answers["GET"] = [this](HttpExchange& exchange, std::string_view) -> Task<void> {
            exchange.start_stream(200, kSse);
            exchange.write_chunk("event: endpoint\ndata: messages\n\n");
            Waiter end(exchange.loop().timers());
            stream_ = &exchange;
            end_ = &end;
            const bool ended = co_await end.wait(kNoDeadline) == WaitEnd::kWoken;
            stream_ = nullptr;
            if (ended) exchange.end_stream();
        };
        server.answers["initialize"] = [this](HttpExchange& exchange,
                                              std::string_view id) -> Task<void> {
            exchange.respond(202, "text/plain", "");
            stream_->write_chunk(
                event_of(result_of(id, R"({"protocolVersion":"2024-11-05","capabilities":{}})")));
            co_return;
        };
        server.answers["tools/call"] = [this, result](HttpExchange& exchange,
                                                      std::string_view id) -> Task<void> {
            if (result.empty())
                end_->wake();
            else
                stream_->write_chunk(event_of(result_of(id, result)));
            Waiter for_ever(exchange.loop().timers());
            co_await for_ever.wait(kNoDeadline);
        };
        UpstreamOptions sse = options();
        sse.era = UpstreamOptions::EraChoice::kSse;
        connect(std::move(sse));
    }
    /// Of a call without a deadline.
    std::string outcome_in_time() {
        UpstreamRequest request = call("x");
        request.deadline = kNoDeadline;
        auto reply = begin(session->request(std::move(request)));
        if (reply.wait_for(std::chrono::milliseconds(net::test::kPatienceMs)) !=
            std::future_status::ready)
            return "it waits for the POST";
        const auto ended = reply.get();
        return ended ? ended->value_or("rpc") : std::string(token_of(ended.error().code));
    }

private:
    HttpExchange* stream_ = nullptr;
    Waiter* end_ = nullptr;
};

TEST_F(McpHeldPost, DoesNotHoldTheCallNorTheConnections) {
    serve(R"({"sse":1})");
    for (int i = 0; i < 70; ++i)  // more than there are connections
        ASSERT_EQ(outcome_in_time(), R"({"sse":1})") << i;
}

TEST_F(McpHeldPost, EndsWithTheStreamAndMayHaveRun) {
    serve("");
    EXPECT_EQ(outcome_in_time(), "OUTCOME_UNKNOWN");
}

TEST_F(McpUpstreamHttp, AnEndpointOnAnotherServerIsRefused) {
    server.answers["GET"] = stream_answer(
        [](std::string_view) { return "event: endpoint\ndata: http://127.0.0.2:1/m\n\n"; }, false);
    UpstreamOptions sse = options();
    sse.era = UpstreamOptions::EraChoice::kSse;
    const auto refused = try_to_connect(std::move(sse));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kToolFailed);
}

TEST_F(McpUpstreamHttp, AnEraThatIsConfiguredIsNotFoundOut) {
    legacy();
    UpstreamOptions configured = options();
    configured.era = UpstreamOptions::EraChoice::kLegacy;
    connect(std::move(configured));
    EXPECT_FALSE(server.saw("POST server/discover 2026-07-28"));
    UpstreamOptions wrong = options();
    wrong.era = UpstreamOptions::EraChoice::kModern;
    EXPECT_FALSE(try_to_connect(std::move(wrong)));
}

}  // namespace
}  // namespace crab::mcp
