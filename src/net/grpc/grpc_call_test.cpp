#include "net/grpc/grpc_call.hpp"

#include "net/codec/grpc_message.hpp"
#include "net/codec/gzip.hpp"
#include "net/grpc/grpc_channel.hpp"
#include "net/grpc/grpc_service.hpp"
#include "net/http2/test_http2.hpp"

#include <future>
#include <vector>

namespace crab::net {
namespace {

using namespace std::chrono_literals;
using Headers = std::vector<HttpHeader>;

/// Answers one message with that message; `/large` with 100 000 bytes.
class EchoService final : public GrpcService {
public:
    Task<void> call(GrpcCall call) override { return answer(std::move(call)); }

private:
    static Task<void> answer(GrpcCall call) {
        const Deadline due = call.loop().now() + 5s;
        const auto message = co_await call.read_only(due);
        if (!message) co_return call.finish(message.error());
        call.begin_message() +=
            call.path() == "/large" ? std::string(100'000, 'x') : std::string(*message);
        call.end_message();
        call.finish(GrpcStatus::kOk);
    }
};

struct Answer {
    std::string status, encoding, body;
    bool gone = false;
};

std::string framed(std::string_view message, bool packed = false) {
    std::string text(message), frame;
    if (packed) EXPECT_TRUE(gzip(message, message.size() + 100, text));
    const std::size_t begun = begin_grpc_frame(frame);
    frame += text;
    end_grpc_frame(frame, begun);
    frame[0] = packed ? 1 : 0;
    return frame;
}

class GrpcCallTest : public test::Http2Pair {
protected:
    void SetUp() override {
        start(service);
        connect();
    }
    /// Sends a request with these fields beside the usual ones, and waits for the whole answer.
    Answer ask(std::string body, const Headers& more = {}, std::string_view path = "/echo") {
        std::promise<Answer> answer;
        thread.run([&] {
            Headers fields{{":method", "POST"},
                           {":scheme", "http"},
                           {":authority", "test"},
                           {":path", path},
                           {"content-type", "application/grpc"},
                           {"te", "trailers"}};
            fields.insert(fields.end(), more.begin(), more.end());
            spawn(thread.loop.executor(),
                  read(client->open(fields, Http2Stream::Last::kNo), std::move(body)),
                  [&](const std::exception_ptr&, std::optional<Answer> value) {
                      answer.set_value(std::move(*value));
                  });
        });
        return answer.get_future().get();
    }
    static Task<Answer> read(std::shared_ptr<Http2Stream> stream, std::string body) {
        Answer answer;
        answer.body = co_await exchange(stream, std::move(body));
        answer.encoding = stream->fields().find("grpc-encoding").value_or("");
        answer.status = (stream->trailers().empty() ? stream->fields() : stream->trailers())
                            .find("grpc-status")
                            .value_or("none");
        answer.gone = stream->gone();
        co_return answer;
    }

    EchoService service;
};

TEST_F(GrpcCallTest, OneMessageIsAnswered) {
    const Answer answer = ask(framed("hello"), {{"grpc-timeout", "5S"}});
    EXPECT_EQ(answer.status, "0");
    EXPECT_EQ(answer.body, framed("hello"));
}

TEST_F(GrpcCallTest, ASecondMessageOfACallThatTakesOneIsAnError) {
    EXPECT_EQ(ask(framed("hello") + framed("again")).status, "3");
    EXPECT_EQ(ask(framed("hello") + "x").status, "3");
    EXPECT_EQ(ask("").status, "3");
}

TEST_F(GrpcCallTest, AMalformedTimeoutIsAnError) {
    for (const std::string_view timeout :
         {"", "5", "S", "123456789S", "-5S", "5s", "5 S", "1.5S"}) {
        EXPECT_EQ(ask(framed("hello"), {{"grpc-timeout", timeout}}).status, "3") << timeout;
    }
}

TEST_F(GrpcCallTest, GzipIsReadWithinTheLimitOfAMessage) {
    const Headers gzip_named{{"grpc-encoding", "gzip"}};
    EXPECT_EQ(ask(framed("hello", true), gzip_named).body, framed("hello"));
    EXPECT_EQ(ask(framed("", true), gzip_named).body, framed(""));
    EXPECT_EQ(ask(framed("hello"), gzip_named).body, framed("hello"))
        << "not every message has to be packed";
    const std::string most(GrpcCall::kMostMessageBytes, 'x');
    EXPECT_EQ(ask(framed(most, true), gzip_named).body, framed(most));
    EXPECT_EQ(ask(framed(most + "x", true), gzip_named).status, "8") << "a bomb";
    EXPECT_EQ(ask(framed("hello", true)).status, "3") << "not named";
    std::string broken = framed(std::string(1'000, 'x'), true);
    broken[12] = static_cast<char>(broken[12] ^ 0x55);
    broken[broken.size() - 6] = static_cast<char>(broken[broken.size() - 6] ^ 1);
    EXPECT_EQ(ask(broken, gzip_named).status, "3");
    EXPECT_EQ(ask(framed("hello"), {{"grpc-encoding", "snappy"}}).status, "12");
}

TEST_F(GrpcCallTest, AnAnswerIsPackedWhereTheCallerTakesItAndItPays) {
    const Headers accepts{{"grpc-accept-encoding", "identity, deflate, gzip"}};
    const Answer packed = ask(framed("hello"), accepts, "/large");
    EXPECT_EQ(packed.status, "0");
    EXPECT_EQ(packed.encoding, "gzip");
    EXPECT_LT(packed.body.size(), 10'000u);
    const GrpcFrame frame = read_grpc_frame(packed.body, packed.body.size());
    std::string text;
    ASSERT_TRUE(frame.compressed);
    EXPECT_EQ(gunzip(frame.message, 200'000, text), GunzipOutcome::kDone);
    EXPECT_EQ(text, std::string(100'000, 'x'));
    EXPECT_EQ(ask(framed("hello"), accepts).encoding, "") << "a small one is not worth it";
    const Answer plain = ask(framed("hello"), {{"grpc-accept-encoding", "identity"}}, "/large");
    EXPECT_EQ(plain.encoding, "");
    EXPECT_EQ(plain.body.size(), 100'005u);
}

TEST_F(GrpcCallTest, AClientPacksOnceItKnowsThatTheServerTakesIt) {
    std::promise<std::vector<std::string>> answers;
    GrpcChannel channel(thread.loop, {.find_server = [this](Deadline) -> Task<Result<DialTarget>> {
                            DialTarget target;
                            target.addresses = {*to_socket_address(listener->endpoint())};
                            co_return target;
                        }});
    const auto talk = [&]() -> Task<std::vector<std::string>> {
        std::vector<std::string> got;
        for (int i = 0; i < 3; ++i) {
            auto begun = co_await channel.begin(i == 1 ? "/large" : "/echo", {}, kNoDeadline,
                                                thread.loop.now() + 5s);
            if (!begun) break;
            begun->send(std::string(50'000, 'y'));
            const auto next = co_await begun->next(thread.loop.now() + 5s);
            if (next == GrpcClientCall::Next::kMessage) got.emplace_back(begun->message());
        }
        channel.close();
        co_return got;
    };
    thread.run([&] {
        spawn(thread.loop.executor(), talk(),
              [&](const std::exception_ptr&, std::optional<std::vector<std::string>> value) {
                  answers.set_value(std::move(*value));
              });
    });
    EXPECT_EQ(answers.get_future().get(),
              (std::vector<std::string>{std::string(50'000, 'y'), std::string(100'000, 'x'),
                                        std::string(50'000, 'y')}));
}

TEST_F(GrpcCallTest, ACallWithLittleTimeForTheConnectionDoesNotFailOthers) {
    int dialled = 0;
    Wakeup goes_on;
    GrpcChannel channel(thread.loop,
                        {.find_server = [&](Deadline until) -> Task<Result<DialTarget>> {
                            DialTarget target;
                            target.addresses = {*to_socket_address(listener->endpoint())};
                            if (++dialled > 1) co_return target;
                            Waiter never(thread.loop.timers());
                            goes_on.wake();  // the other may begin to wait
                            co_await never.wait(until);
                            co_return fail(ErrorCode::kTimeout, "late");
                        }});
    std::promise<ErrorCode> hurried;
    std::promise<bool> patient;
    const auto hurry = [&]() -> Task<ErrorCode> {
        const auto begun =
            co_await channel.begin("/echo", {}, kNoDeadline, thread.loop.now() + 50ms);
        co_return begun ? ErrorCode::kInternal : begun.error().code;
    };
    const auto wait = [&]() -> Task<bool> {
        co_await goes_on.wait();
        const auto begun = co_await channel.begin("/echo", {}, kNoDeadline, kNoDeadline);
        channel.close();
        co_return begun.has_value();
    };
    thread.run([&] {
        spawn(thread.loop.executor(), wait(),
              [&](const std::exception_ptr&, std::optional<bool> value) {
                  patient.set_value(value == true);
              });
        spawn(thread.loop.executor(), hurry(),
              [&](const std::exception_ptr&, std::optional<ErrorCode> value) {
                  hurried.set_value(value.value_or(ErrorCode::kInternal));
              });
    });
    EXPECT_EQ(hurried.get_future().get(), ErrorCode::kTimeout);
    EXPECT_TRUE(patient.get_future().get());
    EXPECT_EQ(dialled, 2);
}

}  // namespace
}  // namespace crab::net
