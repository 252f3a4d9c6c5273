#include "bus/local/local_network.hpp"

#include "base/test_clock.hpp"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace crab::bus::local {
namespace {

using namespace std::chrono_literals;

const Place kOne{.node = 1, .loop = 0, .boot = 1}, kTwo{.node = 2, .loop = 0, .boot = 2};

struct Heard final : Listener {
    void on_message(std::string_view message) override { messages.emplace_back(message); }
    void on_nobody(Receipt receipt) override { nobody.push_back(receipt); }
    std::vector<std::string> messages;
    std::vector<Receipt> nobody;
};

struct LocalNetworkTest : testing::Test {
    FakeClock clock;
    Heard one_heard, two_heard;
    void pass(LocalNetwork& network, Milliseconds time) {
        for (const SteadyTime end = clock.steady_now() + time; clock.steady_now() < end;
             clock.advance(1ms))
            while (network.deliver_one()) continue;
    }
    /// What the second gets of a hundred messages of the first.
    std::vector<std::string> hundred(std::uint64_t seed, const Faults& faults) {
        two_heard = {};
        LocalNetwork network(clock, seed);
        network.set_faults(faults);
        const auto one = network.connect(kOne, one_heard), two = network.connect(kTwo, two_heard);
        for (int i = 0; i < 100; ++i) EXPECT_TRUE(one->send(kTwo, std::to_string(i)));
        pass(network, 100s);
        EXPECT_FALSE(network.next_due());
        return two_heard.messages;
    }
};

TEST_F(LocalNetworkTest, WithoutFaultsAllArriveOnceInOrder) {
    const auto heard = hundred(1, {});
    ASSERT_EQ(heard.size(), 100u);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(heard[static_cast<std::size_t>(i)], std::to_string(i));
}

TEST_F(LocalNetworkTest, TheSameSeedDoesTheSameAgain) {
    const Faults faults{.lost = 200, .doubled = 200, .late = 300};
    const auto first = hundred(5, faults);
    EXPECT_EQ(hundred(5, faults), first);
    EXPECT_NE(hundred(6, faults), first);
    EXPECT_NE(first.size(), 100u);
}

TEST_F(LocalNetworkTest, ACutIsOneWay) {
    LocalNetwork network(clock, 1);
    const auto one = network.connect(kOne, one_heard), two = network.connect(kTwo, two_heard);
    network.cut(1, 2);
    EXPECT_TRUE(one->send(kTwo, "lost"));
    EXPECT_TRUE(two->send(kOne, "heard"));
    pass(network, 1s);
    network.heal();
    EXPECT_TRUE(one->send(kTwo, "healed"));
    pass(network, 1s);
    EXPECT_EQ(one_heard.messages, std::vector<std::string>{"heard"});
    EXPECT_EQ(two_heard.messages, std::vector<std::string>{"healed"});
}

TEST_F(LocalNetworkTest, MailWaitsForWhoStandsStill) {
    LocalNetwork network(clock, 1);
    const auto one = network.connect(kOne, one_heard), two = network.connect(kTwo, two_heard);
    network.pause(2);
    EXPECT_TRUE(one->send(kTwo, "old"));
    pass(network, 60s);
    EXPECT_TRUE(two_heard.messages.empty());
    EXPECT_FALSE(network.next_due());
    network.resume(2);
    pass(network, 1s);
    EXPECT_EQ(two_heard.messages, std::vector<std::string>{"old"});
}

TEST_F(LocalNetworkTest, ACopyForNobodyComesBackUnlessOneOfItsCopiesMayHaveArrived) {
    LocalNetwork network(clock, 1);
    const auto one = network.connect(kOne, one_heard);
    const auto gone = one->send(kTwo, "nobody there");
    pass(network, 1s);
    EXPECT_EQ(one_heard.nobody, std::vector{gone.value()});
    // Doubled, and the second copy is late: by then somebody listens.
    network.set_faults({.doubled = 1'000, .late = 500, .most_late = 10'000ms});
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(one->send(kTwo, std::to_string(i)));
    pass(network, 5s);
    const auto two = network.connect(kTwo, two_heard);
    pass(network, 20s);
    EXPECT_FALSE(two_heard.messages.empty());
    const std::set<std::string> arrived(two_heard.messages.begin(), two_heard.messages.end());
    const std::set<Receipt> nobody(one_heard.nobody.begin() + 1, one_heard.nobody.end());
    EXPECT_EQ(arrived.size() + nobody.size(), 50u) << "each is either";
}

TEST_F(LocalNetworkTest, APublishedMessageReachesAllOthers) {
    LocalNetwork network(clock, 1);
    const auto one = network.connect(kOne, one_heard), two = network.connect(kTwo, two_heard);
    EXPECT_TRUE(one->publish(Topic::kAll, "beat"));
    pass(network, 1s);
    EXPECT_TRUE(one_heard.messages.empty());
    EXPECT_EQ(two_heard.messages.size(), 1u);
}

}  // namespace
}  // namespace crab::bus::local
