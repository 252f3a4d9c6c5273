#include "net/http2/http2_server.hpp"

#include "net/http2/test_http2.hpp"

#include <gtest/gtest.h>

#include <array>
#include <future>
#include <vector>

namespace crab::net {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

constexpr std::array<HttpHeader, 1> kOk{{{":status", "200"}}};
constexpr std::array<HttpHeader, 1> kTooMany{{{":status", "429"}}};
constexpr std::array<HttpHeader, 1> kTrailer{{{"checksum", "1"}}};

std::array<HttpHeader, 4> post(std::string_view path) {
    return {{{":method", "POST"}, {":scheme", "http"}, {":authority", "test"}, {":path", path}}};
}

/// `/echo` gives the body back, `/wait` waits until it is cancelled, `/deaf` reads nothing and
/// waits, `/bulk` answers with 4 MiB. The field `caller` is believed.
class TestService final : public Http2Service {
public:
    Task<void> serve(std::shared_ptr<Http2Stream> stream) override {
        const auto caller = stream->fields().find("caller");
        if (caller && !stream->prove_caller(*caller)) {
            stream->send_head(kTooMany, Http2Stream::Last::kYes);
            co_return;
        }
        if (stream->fields().find(":path") == "/echo") {
            stream->send_head(kOk, Http2Stream::Last::kNo);
            for (;;) {
                const std::string bytes = stream->take_body();
                stream->out() += bytes;
                stream->flush();
                if (stream->ended() && stream->body().empty()) break;
                const WaitEnd taken = co_await stream->drained(64 * 1024, kNoDeadline);
                if (taken != WaitEnd::kWoken) co_return;
                if (stream->body().empty() && !stream->ended()) {
                    const WaitEnd more = co_await stream->more(kNoDeadline);
                    if (more != WaitEnd::kWoken) co_return;
                }
            }
            stream->end(kTrailer);
            co_return;
        }
        if (stream->fields().find(":path") == "/bulk") {
            stream->send_head(kOk, Http2Stream::Last::kNo);
            stream->out().assign(kBulk, 'b');
            stream->flush();
            ++bulk;
            co_return stream->end();
        }
        ++waiting;
        Waiter forever(stream->loop().timers());
        const WaitEnd end = co_await forever.wait(kNoDeadline);
        if (end == WaitEnd::kCancelled) ++cancelled;
    }
    static constexpr std::size_t kBulk = 4 * 1024 * 1024;
    std::atomic<int> waiting = 0, cancelled = 0, bulk = 0;
};

struct Answer {
    std::string status, body, trailer;
    bool gone = false;
    Http2Error code = Http2Error::kNoError;
};

class Http2Test : public test::Http2Pair {
protected:
    void start(Http2ServerOptions options = {}) { Http2Pair::start(service, std::move(options)); }
    /// Sends a request and waits for the whole answer.
    std::future<Answer> ask(std::string path, std::string body, std::vector<HttpHeader> more = {}) {
        auto answer = std::make_shared<std::promise<Answer>>();
        auto future = answer->get_future();
        thread.run([&] {
            const auto head = post(path);
            std::vector<HttpHeader> fields(head.begin(), head.end());
            fields.insert(fields.end(), more.begin(), more.end());
            spawn(thread.loop.executor(),
                  read(client->open(fields, Http2Stream::Last::kNo), std::move(body)),
                  [answer](const std::exception_ptr&, std::optional<Answer> value) {
                      answer->set_value(std::move(*value));
                  });
        });
        return future;
    }
    static Task<Answer> read(std::shared_ptr<Http2Stream> stream, std::string body) {
        Answer answer;
        answer.body = co_await exchange(stream, std::move(body));
        answer.status = stream->fields().find(":status").value_or("");
        answer.trailer = stream->trailers().find("checksum").value_or("");
        answer.gone = stream->gone();
        answer.code = stream->reset_code();
        co_return answer;
    }
    void until(const std::function<bool()>& done) {
        const auto limit =
            std::chrono::steady_clock::now() + std::chrono::milliseconds(test::kPatienceMs);
        while (!thread.run(done)) {
            ASSERT_LT(std::chrono::steady_clock::now(), limit) << "it did not come to that";
            std::this_thread::yield();
        }
    }

    TestService service;
};

TEST_F(Http2Test, AStreamIsAnsweredWithHeadBodyAndTrailers) {
    start();
    connect();
    const Answer answer = ask("/echo", "hello").get();
    EXPECT_EQ(answer.status, "200");
    EXPECT_EQ(answer.body, "hello");
    EXPECT_EQ(answer.trailer, "1");
    EXPECT_FALSE(answer.gone);
}

TEST_F(Http2Test, BodiesLargerThanEveryWindowPassWholeInBothDirections) {
    start();
    connect();
    std::string body;
    for (int i = 0; i < 400'000; ++i) body += std::to_string(i);
    std::vector<std::future<Answer>> answers;
    for (int i = 0; i < 4; ++i) answers.push_back(ask("/echo", body));
    for (auto& answer : answers) EXPECT_TRUE(answer.get().body == body);
}

TEST_F(Http2Test, ManyStreamsAreServedAtOnce) {
    start();
    connect();
    std::vector<std::future<Answer>> answers;
    for (int i = 0; i < 300; ++i) answers.push_back(ask("/echo", std::to_string(i)));
    for (int i = 0; i < 300; ++i)
        EXPECT_EQ(answers[static_cast<std::size_t>(i)].get().body, std::to_string(i));
}

TEST_F(Http2Test, AResetCancelsWhoServesTheStream) {
    start();
    connect();
    std::shared_ptr<Http2Stream> stream;
    thread.run([&] { stream = client->open(post("/wait"), Http2Stream::Last::kNo); });
    until([&] { return service.waiting == 1; });
    thread.run([&] { stream->reset(Http2Error::kCancel); });
    until([&] { return service.cancelled == 1 && server->running() == 0; });
}

TEST_F(Http2Test, ALostConnectionCancelsAllItsStreams) {
    start();
    connect();
    for (int i = 0; i < 3; ++i)
        thread.run([&] { client->open(post("/wait"), Http2Stream::Last::kNo); });
    until([&] { return service.waiting == 3; });
    thread.run([&] { client->connection()->close_now(CloseReason::kLocal); });
    until([&] { return service.cancelled == 3 && server->connections() == 0; });
}

TEST_F(Http2Test, ABodyThatNobodyReadsIsHeldBackAtItsWindow) {
    start();
    connect();
    constexpr std::size_t kBody = 4 * 1024 * 1024;
    std::shared_ptr<Http2Stream> stream;
    thread.run([&] {
        stream = client->open(post("/deaf"), Http2Stream::Last::kNo);
        stream->out().assign(kBody, 'x');
        stream->flush();
    });
    const std::size_t window = Http2Limits{}.stream_window;
    until([&] { return stream->queued_bytes() == kBody - window; });
    EXPECT_EQ(ask("/echo", "others").get().body, "others");
    EXPECT_EQ(thread.run([&] { return stream->queued_bytes(); }), kBody - window);
}

TEST_F(Http2Test, WhatAConnectionMakesUsHoldIsBounded) {
    Http2ServerOptions options;
    options.limits.held_bytes = 100'000;
    start(options);
    connect();
    const auto send = [&](std::size_t size) {
        std::shared_ptr<Http2Stream> stream;
        thread.run([&] {
            stream = client->open(post("/deaf"), Http2Stream::Last::kNo);
            stream->out().assign(size, 'x');
            stream->flush();
        });
        return stream;
    };
    const auto first = send(60'000);
    until([&] { return service.waiting == 1; });
    const auto second = send(60'000);
    until([&] { return second->gone(); });
    EXPECT_EQ(second->reset_code(), Http2Error::kEnhanceYourCalm);
    EXPECT_FALSE(thread.run([&] { return first->gone(); }));
    thread.run([&] { first->reset(Http2Error::kCancel); });
    until([&] { return service.cancelled == 2; });
    const auto third = send(90'000);
    until([&] { return third->queued_bytes() == 0; });
    EXPECT_EQ(ask("/echo", "small").get().body, "small");
    EXPECT_FALSE(thread.run([&] { return third->gone(); }));
}

TEST_F(Http2Test, WhatIsNotTakenOfAnswersIsBoundedForEachPrincipal) {
    Http2ServerOptions options;
    options.count = std::make_shared<ConnectionCount>(
        ConnectionCount::OutputLimits{.of_owner = TestService::kBulk * 3 / 2});
    const auto ann = options.count->of("ann");
    start(options);
    connect();
    const auto head = post("/bulk");
    std::vector<HttpHeader> fields(head.begin(), head.end());
    fields.push_back({"caller", "ann"});
    std::shared_ptr<Http2Stream> first, second;
    thread.run([&] { first = client->open(fields, Http2Stream::Last::kYes); });
    until([&] { return service.bulk == 1; });
    thread.run([&] { second = client->open(fields, Http2Stream::Last::kYes); });
    until([&] { return second->gone(); });
    EXPECT_EQ(second->reset_code(), Http2Error::kEnhanceYourCalm);
    EXPECT_FALSE(thread.run([&] { return first->gone(); }));
    EXPECT_GT(ann->output.held(), TestService::kBulk / 2);
    const auto anns = client;
    connect();
    EXPECT_EQ(ask("/bulk", "", {{"caller", "bob"}}).get().body.size(), TestService::kBulk);
    thread.run([&] { anns->connection()->close_now(CloseReason::kLocal); });
    until([&] { return ann->output.held() == 0; });
}

TEST_F(Http2Test, AnAccountPaysInStepsAndGetsAllBack) {
    const auto budget = std::make_shared<ByteBudget>(200'000);
    {
        Http2Account account(std::size_t{1} << 20);
        EXPECT_TRUE(account.add(70'000));  // of nobody yet
        account.charge(budget);
        EXPECT_EQ(budget->held(), 65'536u);
        EXPECT_TRUE(account.add(1'000));
        EXPECT_EQ(budget->held(), 65'536u) << "small messages cost nothing";
        EXPECT_TRUE(account.add(120'000));
        EXPECT_FALSE(account.add(120'000));
        account.remove(191'000);
        EXPECT_EQ(budget->held(), 0u);
        EXPECT_TRUE(account.add(150'000));
    }
    EXPECT_EQ(budget->held(), 0u);
}

TEST_F(Http2Test, AHeadThatDoesNotEndEndsTheConnection) {
    Http2ServerOptions options;
    options.limits.head = 100ms;
    start(options);
    test::RawClient raw(listener->endpoint());
    raw.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\0\0\0\4\0\0\0\0\0"s +
             "\0\0\1\1\0\0\0\0\1\x83"s);
    static_cast<void>(raw.read_to_end());
    until([&] { return server->connections() == 0; });
    connect();
    EXPECT_EQ(ask("/echo", "others").get().body, "others");
}

TEST_F(Http2Test, NewcomersMakeWay) {
    Http2ServerOptions options;
    options.max_connections = 2;
    start(options);
    test::RawClient first(listener->endpoint()), second(listener->endpoint());
    until([&] { return server->connections() == 2; });
    connect();
    EXPECT_EQ(ask("/echo", "hello").get().body, "hello");
    static_cast<void>(first.read_to_end());
    EXPECT_LE(thread.run([&] { return server->connections(); }), 2u);
}

TEST_F(Http2Test, AnIdleConnectionOfWhoHasMostMakesWay) {
    Http2ServerOptions options;
    options.max_connections = 3;
    start(options);
    std::vector<std::shared_ptr<Http2Session>> sessions;
    for (const char* const caller : {"bob", "ann", "ann", "eve"}) {
        connect();
        sessions.push_back(client);
        EXPECT_EQ(ask("/echo", "hello", {{"caller", caller}}).get().status, "200") << caller;
    }
    until([&] { return !sessions[1]->is_open(); });
    EXPECT_TRUE(thread.run([&] { return sessions[0]->is_open() && sessions[2]->is_open(); }));
}

TEST_F(Http2Test, OnePrincipalHasStreamsOnHalfOfTheConnections) {
    Http2ServerOptions options;
    options.max_connections = 18;
    start(options);
    std::vector<std::shared_ptr<Http2Session>> sessions;
    std::vector<std::future<Answer>> waiting;
    for (int i = 0; i < 9; ++i) {
        connect();
        sessions.push_back(client);
        waiting.push_back(ask("/wait", "", {{"caller", "ann"}}));
        until([&] { return service.waiting == i + 1; });
    }
    EXPECT_EQ(sessions.size(), 9u);
    connect();
    EXPECT_EQ(ask("/echo", "", {{"caller", "ann"}}).get().status, "429");
    const Answer refused = ask("/echo", "", {{"caller", "bob"}}).get();
    EXPECT_TRUE(refused.gone) << "the connection is known to be ann's";
    EXPECT_EQ(refused.code, Http2Error::kRefused);
    const auto later = client;
    connect();
    EXPECT_EQ(ask("/echo", "", {{"caller", "bob"}}).get().status, "200");
    thread.run([&] { sessions[0]->connection()->close_now(CloseReason::kLocal); });
    until([&] { return service.cancelled == 1; });
    client = later;
    EXPECT_EQ(ask("/echo", "", {{"caller", "ann"}}).get().status, "200");
    thread.run([&] {
        for (const auto& session : sessions) {
            if (session->is_open()) session->connection()->close_now(CloseReason::kLocal);
        }
    });
}

TEST_F(Http2Test, TooManyFieldsResetTheirStreamOnly) {
    start();
    connect();
    const std::string big(17 * 1024, 'x');
    const Answer refused = ask("/echo", "hello", {{"big", big}}).get();
    EXPECT_TRUE(refused.gone);
    EXPECT_EQ(ask("/echo", "hello").get().body, "hello");
}

TEST_F(Http2Test, OneAuthorizationIsTheMost) {
    start();
    connect();
    EXPECT_EQ(ask("/echo", "hello", {{"authorization", "a"}}).get().body, "hello");
    const Answer refused =
        ask("/echo", "hello", {{"authorization", "a"}, {"authorization", "b"}}).get();
    EXPECT_EQ(refused.status, "400");
    EXPECT_EQ(ask("/echo", "hello").get().body, "hello") << "the connection goes on";
}

TEST_F(Http2Test, AFloodOfPingsIsTold) {
    Http2ServerOptions options;
    options.limits.control_burst = 10;
    start(options);
    test::RawClient raw(listener->endpoint());
    raw.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\0\0\0\4\0\0\0\0\0"s);
    for (int i = 0; i < 50; ++i) raw.send("\0\0\x08\6\0\0\0\0\0"s + "12345678");
    const std::string said = raw.read_to_end();
    EXPECT_NE(said.find("\0\0\0\x0b"s), std::string::npos);  // GOAWAY with ENHANCE_YOUR_CALM
}

TEST_F(Http2Test, AnotherProtocolIsClosedAtOnce) {
    start();
    test::RawClient raw(listener->endpoint());
    raw.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    static_cast<void>(raw.read_to_end());
    until([&] { return server->connections() == 0; });
}

TEST_F(Http2Test, StoppingCancelsWhatRunsAndLetsTheClientKnow) {
    start();
    connect();
    auto answer = ask("/wait", "");
    until([&] { return service.waiting == 1; });
    stop();
    EXPECT_TRUE(answer.get().gone);
    EXPECT_EQ(service.cancelled, 1);
    EXPECT_FALSE(thread.run([&] { return client->accepts_streams(); }));
}

}  // namespace
}  // namespace crab::net
