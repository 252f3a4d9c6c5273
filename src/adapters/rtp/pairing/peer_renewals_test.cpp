#include "adapters/rtp/pairing/peer_renewals.hpp"

#include "base/test_clock.hpp"
#include "net/http/test_support.hpp"
#include "trust/pairing/test_peer_store.hpp"

#include <mutex>

namespace crab::rtp {
namespace {

using namespace std::chrono_literals;

class PeerRenewalsTest : public testing::Test {
protected:
    void know(std::string id, std::chrono::days left,
              trust::PeerStatus status = trust::PeerStatus::kActive) {
        const trust::PeerName name{trust::ComponentType::kToolHost, std::move(id)};
        store.peers[name] = {.name = name,
                             .endpoint = "wss://" + name.id + ":1",
                             .not_after = clock.system_now() + left,
                             .status = status};
    }
    void start() {
        peers = trust::Peers::load(store).value();
        const auto renew = [this](trust::PeerName name) -> Task<bool> {
            const std::scoped_lock lock(mutex);
            renewed.push_back(name.id);
            co_return succeeds;
        };
        renewals = std::make_unique<PeerRenewals>(home.loop, *peers, renew);
        home.run([&] { renewals->start(); });
    }
    std::vector<std::string> taken() {
        home.run([] {});
        const std::scoped_lock lock(mutex);
        return std::exchange(renewed, {});
    }
    void TearDown() override {
        home.run([&] { renewals->stop([] {}); });
    }

    FakeClock clock;
    trust::PeerStoreMemory store;
    std::unique_ptr<trust::Peers> peers;
    net::test::LoopThread home{clock};
    std::mutex mutex;
    std::vector<std::string> renewed;
    bool succeeds = true;
    std::unique_ptr<PeerRenewals> renewals;
};

TEST_F(PeerRenewalsTest, ActivePeersAreRenewedBelowThirtyDaysAndLookedAtDaily) {
    know("old", std::chrono::days(29));
    know("young", std::chrono::days(32));
    know("aside", std::chrono::days(1), trust::PeerStatus::kInactive);
    start();
    EXPECT_EQ(taken(), std::vector<std::string>{"old"});
    home.advance(clock, 23h);
    EXPECT_TRUE(taken().empty());
    home.advance(clock, 2h);
    EXPECT_EQ(taken(), std::vector<std::string>{"old"});
    home.advance(clock, 24h);
    EXPECT_EQ(taken(), (std::vector<std::string>{"old", "young"}));
}

TEST_F(PeerRenewalsTest, AFailureIsTriedAgainInAnHour) {
    know("old", std::chrono::days(2));
    succeeds = false;
    start();
    EXPECT_EQ(taken(), std::vector<std::string>{"old"});
    home.advance(clock, 61min);
    EXPECT_EQ(taken(), std::vector<std::string>{"old"});
}

}  // namespace
}  // namespace crab::rtp
