#include "adapters/sw4rm/frame_writer.hpp"

#include "base/task/spawn.hpp"
#include "base/test_clock.hpp"
#include "net/grpc/grpc_channel.hpp"
#include "net/grpc/grpc_service.hpp"
#include "net/http/test_support.hpp"
#include "net/http2/http2_server.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <random>

namespace crab::sw4rm {
namespace {

using namespace std::chrono_literals;

/// Writes frames for as long as its caller takes them.
class EndlessTool final : public net::GrpcService {
public:
    Task<void> call(net::GrpcCall call) override {
        const auto request = co_await call.read_only(kNoDeadline);
        if (!request) co_return;
        const std::string_view id = "c1";
        std::minstd_rand random(1);  // the caller takes gzip
        std::string data(FrameWriter::kMostDataBytes, 'x');
        if (!packs) std::ranges::generate(data, [&] { return static_cast<char>(random() >> 8); });
        FrameWriter frames(call, id);
        while (!(co_await this_chain()).cancelled()) {
            frames.on_frame({.number = 1, .data = data, .content_type = "text/plain"});
            ++written;
            co_await frames.drained();
        }
        slow = frames.reader_was_slow();
        call.finish(net::GrpcStatus::kCancelled, "over");
        ended = true;
    }
    std::atomic<bool> packs = false;
    std::atomic<int> written = 0;
    std::atomic<bool> slow = false, ended = false;
};

class FrameWriterTest : public testing::Test {
protected:
    void SetUp() override { set_up(); }
    void set_up() {
        listener = std::move(*net::Listener::bind(net::Endpoint::tcp("127.0.0.1", 0)));
        thread.run([&] {
            server = std::make_unique<net::Http2Server>(thread.loop, tool);
            ASSERT_TRUE(server->listen(*listener));
            net::GrpcChannel::Options options;
            options.find_server = [this](Deadline) -> Task<Result<net::DialTarget>> {
                net::DialTarget target;
                target.addresses = {*net::to_socket_address(listener->endpoint())};
                co_return target;
            };
            channel = std::make_unique<net::GrpcChannel>(thread.loop, std::move(options));
            spawn(thread.loop.executor(), begin(), [](const std::exception_ptr&) {});
        });
        until([&] { return held_back(); });
    }
    void TearDown() override {
        std::promise<void> stopped;
        thread.run([&] {
            reading.reset();
            channel->close();
            server->stop([&] { stopped.set_value(); });
        });
        EXPECT_EQ(stopped.get_future().wait_for(std::chrono::milliseconds(net::test::kPatienceMs)),
                  std::future_status::ready);
        thread.run([&] {
            server.reset();
            channel.reset();
        });
    }
    Task<void> begin() {
        auto begun = co_await channel->begin("/sw4rm.tool.ToolService/CallStream", {}, kNoDeadline,
                                             kNoDeadline);
        if (!begun) co_return;
        begun->send("request");
        reading.emplace(std::move(*begun));
    }
    /// Reads frames until one more has been written.
    Task<void> read_some() {
        const int before = tool.written;
        while (tool.written == before) {
            if (co_await reading->next(kNoDeadline) != net::GrpcClientCall::Next::kMessage)
                co_return;
            ++read;
        }
    }
    /// The window, what may wait at the server, and one frame: nothing more is written.
    bool held_back() const { return tool.written >= 5; }
    void until(const std::function<bool()>& done) {
        const auto limit =
            std::chrono::steady_clock::now() + std::chrono::milliseconds(net::test::kPatienceMs);
        while (!thread.run(done)) {
            ASSERT_LT(std::chrono::steady_clock::now(), limit) << "it did not come to that";
            std::this_thread::yield();
        }
    }

    FakeClock clock;
    EndlessTool tool;
    std::unique_ptr<net::Listener> listener;
    std::unique_ptr<net::Http2Server> server;
    std::unique_ptr<net::GrpcChannel> channel;
    std::optional<net::GrpcClientCall> reading;
    std::atomic<int> read = 0;
    net::test::LoopThread thread{clock};
};

TEST_F(FrameWriterTest, AReaderThatTakesNothingForAMinuteLosesItsCall) {
    thread.advance(clock, 59s);
    EXPECT_FALSE(tool.ended);
    EXPECT_LE(tool.written, 7);
    thread.advance(clock, 2s);
    until([&] { return tool.ended.load(); });
    EXPECT_TRUE(tool.slow);
}

class PackedFramesTest : public FrameWriterTest {
protected:
    void SetUp() override {
        tool.packs = true;
        set_up();
    }
};

// Packed, a frame has some 300 bytes: the reader's window holds two hundred of them, what waits
// behind it as few as ever.
TEST_F(PackedFramesTest, AReaderThatTakesNothingForAMinuteLosesItsCall) {
    const auto limit =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(net::test::kPatienceMs);
    while (!tool.ended && std::chrono::steady_clock::now() < limit) thread.advance(clock, 1s);
    EXPECT_TRUE(tool.slow);
    EXPECT_LE(tool.written, 300);
}

TEST_F(FrameWriterTest, AReaderThatTakesALittleNowAndThenKeepsItsCall) {
    for (int minute = 0; minute < 5; ++minute) {
        thread.advance(clock, 50s);
        const int before = tool.written;
        thread.run(
            [&] { spawn(thread.loop.executor(), read_some(), [](const std::exception_ptr&) {}); });
        until([&] { return tool.written > before; });
        EXPECT_FALSE(tool.ended);
    }
    EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace crab::sw4rm
