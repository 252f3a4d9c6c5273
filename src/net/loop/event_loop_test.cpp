#include "net/loop/event_loop.hpp"

#include "base/task/spawn.hpp"
#include "base/task/waiter.hpp"
#include "base/test_clock.hpp"
#include "net/http/test_support.hpp"
#include "net/loop/listener.hpp"
#include "net/tls/connection.hpp"

#include <sys/socket.h>

namespace crab::net {
namespace {

using namespace std::chrono_literals;

/// Two connected sockets: one for a Connection, one for the test to hold by hand.
struct SocketPair {
    int ours = -1;
    int theirs = -1;
    SocketPair() {
        int fds[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) != 0) std::abort();
        ours = fds[0];
        theirs = fds[1];
    }
    ~SocketPair() {
        if (theirs >= 0) ::close(theirs);
    }
    std::string take() {
        char space[4096];
        const ssize_t count = ::recv(theirs, space, sizeof space, MSG_DONTWAIT);
        return count > 0 ? std::string(space, static_cast<std::size_t>(count)) : std::string();
    }
};

class Recorder : public ConnectionHandler {
public:
    std::size_t on_bytes(Connection&, std::span<char> bytes) override {
        offered.emplace_back(bytes.data(), bytes.size());
        const std::size_t taken = std::min(take, bytes.size());
        return taken;
    }
    void on_drained(Connection&) override { drained += 1; }
    void on_closed(Connection&, CloseReason why) override {
        reason = why;
        closed += 1;
    }
    std::vector<std::string> offered;
    std::size_t take = SIZE_MAX;
    int drained = 0;
    int closed = 0;
    std::optional<CloseReason> reason;
};

class EventLoopTest : public ::testing::Test {
protected:
    template <class Done>
    void run_until(Done done) {
        for (int i = 0; i < 1000 && !done(); ++i) loop.run_some(20ms);
        EXPECT_TRUE(done());
    }
    std::shared_ptr<Connection> connect(SocketPair& pair) {
        return Connection::accepted(loop, pair.ours, nullptr, limits, recorder);
    }

    RealClock clock;
    ConnectionLimits limits;
    std::shared_ptr<Recorder> recorder = std::make_shared<Recorder>();
    EventLoop loop{clock};
};

TEST_F(EventLoopTest, KnowsItsThreadOnlyWhileItRuns) {
    EXPECT_EQ(EventLoop::current(), nullptr);
    bool inside = false;
    loop.post([&] { inside = loop.in_this_thread(); });
    run_until([&] { return inside; });
    EXPECT_FALSE(loop.in_this_thread());
}

TEST_F(EventLoopTest, TimersFireInOrderOnARealClock) {
    struct Node : TimerNode {
        std::string& log;
        char name;
        Node(std::string& to, char what) : log(to), name(what) {}
        void on_expired() override { log += name; }
    };
    std::string log;
    Node late(log, 'c'), early(log, 'a'), middle(log, 'b'), never(log, 'x');
    loop.timers().arm(late, loop.now() + 30ms);
    loop.timers().arm(never, loop.now() + 1h);
    loop.timers().arm(middle, loop.now() + 15ms);
    loop.timers().arm(early, loop.now() + 1ms);
    run_until([&] { return log.size() == 3; });
    EXPECT_EQ(log, "abc");
}

TEST_F(EventLoopTest, WritesOfSeveralHandlersGoOutOnce) {
    SocketPair pair;
    const auto connection = connect(pair);
    for (const char* text : {"one ", "two ", "three"}) {
        loop.post([&, text] {
            connection->out() += text;
            connection->mark_dirty();
        });
    }
    run_until([&] { return recorder->drained > 0; });
    EXPECT_EQ(recorder->drained, 1);
    EXPECT_EQ(pair.take(), "one two three");
    EXPECT_EQ(connection->queued_bytes(), 0u);
    connection->close_now(CloseReason::kLocal);
}

TEST_F(EventLoopTest, WhatADestructorWritesGoesOutInTheSameTurn) {
    struct LastWords {
        std::shared_ptr<Connection> connection;
        ~LastWords() {
            connection->out() += "farewell";
            connection->mark_dirty();
        }
    };
    SocketPair pair;
    const auto connection = connect(pair);
    auto speaker = std::make_shared<LastWords>(connection);
    loop.post([&] { loop.destroy_later(std::move(speaker)); });
    run_until([&] { return recorder->drained > 0; });
    EXPECT_EQ(pair.take(), "farewell");
    connection->close_now(CloseReason::kLocal);
}

TEST_F(EventLoopTest, BytesThatWereNotConsumedAreOfferedAgainWithTheNext) {
    SocketPair pair;
    const auto connection = connect(pair);
    recorder->take = 1;
    for (const std::string_view part : {"abc", "de"}) {
        const std::size_t before = recorder->offered.size();
        ASSERT_EQ(::send(pair.theirs, part.data(), part.size(), 0),
                  static_cast<ssize_t>(part.size()));
        run_until([&] { return recorder->offered.size() > before; });
    }
    EXPECT_EQ(recorder->offered, (std::vector<std::string>{"abc", "bcde"}));
    recorder->take = SIZE_MAX;
    connection->offer_again();
    EXPECT_EQ(recorder->offered.size(), 2u) << "not in this iteration";
    run_until([&] { return recorder->offered.size() > 2; });
    EXPECT_EQ(recorder->offered.back(), "cde");
    ASSERT_EQ(::send(pair.theirs, "f", 1, 0), 1);
    run_until([&] { return recorder->offered.size() > 3; });
    EXPECT_EQ(recorder->offered.back(), "f") << "nothing is left of what was taken";
    connection->close_now(CloseReason::kLocal);
}

TEST_F(EventLoopTest, PausedConnectionsReadNothingAndMissNothing) {
    SocketPair pair;
    const auto connection = connect(pair);
    connection->pause_reading();
    ASSERT_EQ(::send(pair.theirs, "x", 1, 0), 1);
    ::shutdown(pair.theirs, SHUT_WR);
    for (int i = 0; i < 3; ++i) loop.run_some(1ms);
    EXPECT_TRUE(recorder->offered.empty());
    EXPECT_EQ(recorder->closed, 0);
    connection->resume_reading();
    run_until([&] { return recorder->closed == 1; });
    EXPECT_EQ(recorder->offered, std::vector<std::string>{"x"});
    EXPECT_EQ(recorder->reason, CloseReason::kPeerClosed);
}

TEST_F(EventLoopTest, ABusyConnectionLeavesTurnsToOthers) {
    limits.read_per_iteration = 10'000;
    SocketPair busy, other;
    const auto busy_connection = connect(busy);
    const std::string flood(100'000, 'f');
    ASSERT_EQ(::send(busy.theirs, flood.data(), flood.size(), 0),
              static_cast<ssize_t>(flood.size()));
    const auto patient = std::make_shared<Recorder>();
    const auto other_connection = Connection::accepted(loop, other.ours, nullptr, limits, patient);
    ASSERT_EQ(::send(other.theirs, "x", 1, 0), 1);
    run_until([&] { return !patient->offered.empty(); });
    run_until([&] {
        std::size_t total = 0;
        for (const std::string& part : recorder->offered) total += part.size();
        return total == flood.size();
    });
    busy_connection->close_now(CloseReason::kLocal);
    other_connection->close_now(CloseReason::kLocal);
}

TEST(EventLoopIterationTest, WhatTakesLongIsReadInSeveral) {
    FakeClock clock;
    EventLoop loop(clock);
    std::string order;
    struct Slow final : Recorder {
        Slow(FakeClock& a_clock, std::string& an_order, char a_name)
            : clock(a_clock), order(an_order), name(a_name) {}
        std::size_t on_bytes(Connection&, std::span<char> bytes) override {
            clock.advance(EventLoop::kLongIteration + 1ms);
            order += name;
            return bytes.size();
        }
        FakeClock& clock;
        std::string& order;
        const char name;
    };
    const ConnectionLimits limits;
    std::vector<SocketPair> pairs(3);
    const std::string much(2 * EventLoop::kScratchBytes, 'x');
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        ASSERT_EQ(::send(pairs[i].theirs, much.data(), much.size(), 0),
                  static_cast<ssize_t>(much.size()));
        Connection::accepted(loop, pairs[i].ours, nullptr, limits,
                             std::make_shared<Slow>(clock, order, static_cast<char>('a' + i)));
    }
    for (int i = 0; i < 1000 && order.size() < 6; ++i) loop.run_some(20ms);
    EXPECT_EQ(order, "abcabc");
}

TEST_F(EventLoopTest, CloseAfterFlushWaitsForTheOtherHalf) {
    SocketPair pair;
    const auto connection = connect(pair);
    connection->out() += "last words";
    connection->close_after_flush();
    run_until([&] { return recorder->drained == 1; });
    EXPECT_EQ(pair.take(), "last words");
    EXPECT_EQ(recorder->closed, 0);
    ::close(std::exchange(pair.theirs, -1));
    run_until([&] { return recorder->closed == 1; });
    EXPECT_EQ(recorder->reason, CloseReason::kLocal);
}

TEST_F(EventLoopTest, FailedDialsAreToldLaterAndOnce) {
    const auto connection =
        Connection::dial(loop, *to_socket_address(Endpoint::unix_socket("/nonexistent/s")), nullptr,
                         {}, limits, recorder);
    EXPECT_EQ(recorder->closed, 0);
    run_until([&] { return recorder->closed == 1; });
    EXPECT_EQ(recorder->reason, CloseReason::kConnectFailed);
    EXPECT_EQ(connection->failure(), "No such file or directory");
}

/// Then the kernel tells of the connection and of the bytes at once.
TEST_F(EventLoopTest, WhatAServerSaysBeforeItsDialerLooksIsRead) {
    const int listening = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const SocketAddress any = *to_socket_address(Endpoint::tcp("127.0.0.1", 0));
    SocketAddress bound;
    bound.size = sizeof bound.storage;
    ASSERT_EQ(::bind(listening, any.data(), any.size), 0);
    ASSERT_EQ(::listen(listening, 1), 0);
    ASSERT_EQ(::getsockname(listening, reinterpret_cast<sockaddr*>(&bound.storage), &bound.size),
              0);
    const auto connection = Connection::dial(loop, bound, nullptr, {}, limits, recorder);
    const int theirs = ::accept(listening, nullptr, nullptr);
    ASSERT_EQ(::send(theirs, "INFO", 4, 0), 4);
    run_until([&] { return !recorder->offered.empty(); });
    EXPECT_EQ(recorder->offered, std::vector<std::string>{"INFO"});
    ::close(theirs);
    ::close(listening);
}

TEST(EventLoopEndTest, ClosesWhatIsLeft) {
    const RealClock clock;
    const ConnectionLimits limits;
    SocketPair pair;
    const auto recorder = std::make_shared<Recorder>();
    {
        EventLoop loop(clock);
        Connection::accepted(loop, pair.ours, nullptr, limits, recorder);
        loop.run_some(1ms);
    }
    EXPECT_EQ(recorder->closed, 1);
    EXPECT_EQ(recorder->reason, CloseReason::kShutdown);
}

}  // namespace
}  // namespace crab::net
