#include "bus/nats/nats_link.hpp"

#include "bus/envelope.hpp"
#include "bus/nats/test_nats_server.hpp"

#include <cerrno>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace crab::bus::nats {
namespace {

using namespace std::chrono_literals;

const Place kOne{.node = 1, .loop = 0, .boot = 11}, kTwo{.node = 2, .loop = 3, .boot = 22};

struct Heard final : Listener {
    void on_message(std::string_view message) override { messages.emplace_back(message); }
    void on_nobody(Receipt receipt) override { nobody.push_back(receipt); }
    std::vector<std::string> messages;
    std::vector<Receipt> nobody;
};

struct NatsLinkTest : testing::Test {
    RealClock clock;
    net::EventLoop loop{clock};
    std::optional<TestNatsServer> server;
    Heard one_heard, two_heard;
    std::optional<NatsLink> one, two;

    void SetUp() override {
        if (!TestNatsServer::is_installed()) GTEST_SKIP() << "nats-server is not installed";
        server.emplace();
        one.emplace(loop, options(), kOne, one_heard);
        two.emplace(loop, options(), kTwo, two_heard);
        one->start();
        two->start();
        ASSERT_TRUE(until([&] { return one->connected() && two->connected(); }));
    }
    void TearDown() override {
        one.reset();
        two.reset();
        loop.run_some(1ms);
    }
    NatsLink::Options options(std::string fleet = "f") {
        return {.fleet = std::move(fleet), .servers = {server->address()}, .name = "a test"};
    }
    bool until(const std::function<bool()>& done) {
        const auto end = std::chrono::steady_clock::now() + 30s;
        while (!done()) {
            if (std::chrono::steady_clock::now() > end) return false;
            loop.run_some(20ms);
        }
        return true;
    }
};

TEST_F(NatsLinkTest, WhatIsSentToALoopArrivesThereAsItWasAndInOrder) {
    const std::string odd("\0\r\nMSG x 1 0\r\n\xff", 17);
    ASSERT_TRUE(one->send(kTwo, odd));
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(one->send(kTwo, std::to_string(i)));
    ASSERT_TRUE(one->send(kTwo, std::string(kMostMessage, 'x')));
    ASSERT_TRUE(until([&] { return two_heard.messages.size() == 102; }));
    EXPECT_EQ(two_heard.messages.front(), odd);
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(two_heard.messages[static_cast<std::size_t>(i) + 1], std::to_string(i));
    EXPECT_EQ(two_heard.messages.back().size(), kMostMessage);
    EXPECT_TRUE(one_heard.messages.empty());
    EXPECT_TRUE(one_heard.nobody.empty());
}

TEST_F(NatsLinkTest, ACopyForAFormerLifeReachesNobodyAndItsSenderIsTold) {
    Place former = kTwo;
    former.boot = 21;
    const auto receipt = one->send(former, "for whom");
    ASSERT_TRUE(receipt);
    ASSERT_TRUE(until([&] { return !one_heard.nobody.empty(); }));
    EXPECT_EQ(one_heard.nobody, std::vector{*receipt});
    EXPECT_TRUE(two_heard.messages.empty());
}

TEST_F(NatsLinkTest, WhatIsPublishedReachesAllOthersOfTheFleet) {
    Heard other_heard;
    NatsLink other(loop, options("g"), {.node = 1, .loop = 0, .boot = 5}, other_heard);
    other.start();
    ASSERT_TRUE(until([&] { return other.connected(); }));
    ASSERT_TRUE(one->publish(Topic::kAll, "a beat"));
    ASSERT_TRUE(until([&] { return !two_heard.messages.empty(); }));
    EXPECT_EQ(two_heard.messages, std::vector<std::string>{"a beat"});
    EXPECT_TRUE(one_heard.messages.empty()) << "its own";
    EXPECT_TRUE(other_heard.messages.empty()) << "another fleet's";
}

TEST_F(NatsLinkTest, AServerThatIsKilledAndComesBackIsFoundAgain) {
    server->kill();
    ASSERT_TRUE(until([&] { return !one->connected() && !two->connected(); }));
    const auto refused = one->send(kTwo, "lost");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
    server->start_again();
    ASSERT_TRUE(until([&] { return one->connected() && two->connected(); }));
    ASSERT_TRUE(one->send(kTwo, "again"));
    ASSERT_TRUE(until([&] { return !two_heard.messages.empty(); }));
    EXPECT_EQ(two_heard.messages.back(), "again");
}

TEST_F(NatsLinkTest, TheNextServerIsTakenWhenOneIsGone) {
    TestNatsServer second;
    NatsLink::Options both = options();
    both.servers.push_back(second.address());
    NatsLink three(loop, both, {.node = 3, .loop = 0, .boot = 33}, one_heard);
    three.start();
    ASSERT_TRUE(until([&] { return three.connected(); }));
    server->kill();
    ASSERT_TRUE(until([&] { return three.counts().connects.value() == 2; }));
    EXPECT_TRUE(three.connected());
}

TEST_F(NatsLinkTest, AServerThatStandsStillIsGivenUp) {
    NatsLink::Options impatient = options();
    impatient.quiet = 200ms;
    NatsLink three(loop, impatient, {.node = 3, .loop = 0, .boot = 33}, one_heard);
    three.start();
    ASSERT_TRUE(until([&] { return three.connected(); }));
    server->signal(SIGSTOP);
    ASSERT_TRUE(until([&] { return !three.connected(); })) << "after two spans of silence";
    server->signal(SIGCONT);
    ASSERT_TRUE(until([&] { return three.connected(); }));
}

TEST_F(NatsLinkTest, WithoutTheRightPasswordNothingIsConnected) {
    TestNatsServer guarded({"--user", "crab", "--pass", "secret"});
    NatsLink::Options known = options();
    known.servers = {guarded.address()};
    known.user = "crab";
    NatsLink::Options unknown = known;
    known.password = Secret<std::string>("secret");
    unknown.password = Secret<std::string>("wrong");
    NatsLink in(loop, known, {.node = 3, .loop = 0, .boot = 33}, one_heard);
    NatsLink out(loop, unknown, {.node = 4, .loop = 0, .boot = 44}, one_heard);
    in.start();
    out.start();
    ASSERT_TRUE(until([&] { return in.connected() && out.counts().broken.value() >= 2; }));
    EXPECT_EQ(out.counts().connects.value(), 0u);
    EXPECT_GE(out.counts().errors.value(), 1u);
}

/// Says one INFO to whoever connects, and keeps what it hears.
class ServerThatSays {
public:
    explicit ServerThatSays(std::string info) : info_(std::move(info)) {
        sockaddr_in any{};
        any.sin_family = AF_INET;
        any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof any;
        auto* const address = reinterpret_cast<sockaddr*>(&any);
        if (::bind(listener_, address, size) != 0 || ::listen(listener_, 8) != 0 ||
            ::getsockname(listener_, address, &size) != 0)
            ADD_FAILURE() << "no listener";
        port_ = ntohs(any.sin_port);
    }
    ServerThatSays(const ServerThatSays&) = delete;
    ServerThatSays& operator=(const ServerThatSays&) = delete;
    ~ServerThatSays() {
        ::close(listener_);
        if (client_ >= 0) ::close(client_);
    }
    net::SocketAddress address() const {
        return net::resolve(net::parse_endpoint(fmt::format("127.0.0.1:{}", port_)).value())
            .value()
            .front();
    }
    /// Goes on; true once the first client has closed its end.
    bool has_ended() {
        if (client_ < 0) {
            client_ = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (client_ < 0) return false;
            EXPECT_EQ(::send(client_, info_.data(), info_.size(), 0),
                      static_cast<ssize_t>(info_.size()));
        }
        char bytes[1'024];
        const ssize_t got = ::recv(client_, bytes, sizeof bytes, 0);
        if (got > 0) heard.append(bytes, static_cast<std::size_t>(got));
        return got == 0 || (got < 0 && errno != EAGAIN);
    }
    std::string heard;

private:
    const std::string info_;
    const int listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int client_ = -1;
    std::uint16_t port_ = 0;
};

TEST(NatsLinkPasswordTest, IsNotSentToAServerThatRequiresTls) {
    RealClock clock;
    net::EventLoop loop{clock};
    ServerThatSays server("INFO {\"server_id\":\"a\",\"tls_required\":true}\r\n");
    Heard heard;
    NatsLink link(loop,
                  {.fleet = "f",
                   .servers = {server.address()},
                   .name = "a test",
                   .user = "crab",
                   .password = Secret<std::string>("secret")},
                  kOne, heard);
    link.start();
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (!server.has_ended() && std::chrono::steady_clock::now() < end) loop.run_some(20ms);
    EXPECT_TRUE(server.has_ended());
    EXPECT_EQ(server.heard, "");
    EXPECT_GE(link.counts().errors.value(), 1u);
    EXPECT_FALSE(link.connected());
    link.stop();
    loop.run_some(1ms);
}

}  // namespace
}  // namespace crab::bus::nats
