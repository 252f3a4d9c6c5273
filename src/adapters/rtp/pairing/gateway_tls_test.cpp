#include "adapters/rtp/pairing/gateway_tls.hpp"

#include "base/descriptor.hpp"
#include "base/test_clock.hpp"
#include "net/tls/tls_stream.hpp"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace crab::rtp {
namespace {

using namespace std::chrono_literals;

class GatewayTlsTest : public testing::Test {
protected:
    /// What a client of the peer listener is shown.
    std::string shown() {
        const auto server = tls.server();
        const auto client = tls.client();
        if (!server || !client) return "no context";
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
            return "no sockets";
        const Descriptor near(ends[0]), far(ends[1]);
        net::TlsStream dialled(**client, near.get(), ""), accepted(**server, far.get(), "");
        constexpr int kTurns = 10;
        using Outcome = net::Transfer::Outcome;
        bool done = false;
        for (int i = 0; i < kTurns && !done; ++i) {
            const bool dialled_done = dialled.handshake().outcome == Outcome::kDone;
            done = accepted.handshake().outcome == Outcome::kDone && dialled_done;
        }
        return done ? dialled.peer_certificate_der()
                    : "no handshake: " + dialled.failure() + accepted.failure();
    }

    static trust::GatewayKeys make_keys(SystemTime now) {
        std::string folder = std::filesystem::temp_directory_path() / "crab_keys_XXXXXX";
        if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
        crypto::SystemRandom random;
        auto made = trust::GatewayKeys::load_or_make(crypto::KeyFolder::open(folder).value(),
                                                     "home", now, random);
        std::filesystem::remove_all(folder);
        return std::move(made.value());
    }

    FakeClock clock;
    trust::GatewayKeys keys = make_keys(clock.system_now());
    GatewayTls tls{keys, clock};
};

TEST_F(GatewayTlsTest, ItsCertificateIsKeptUntilLessThan30DaysRemainAndThenMadeAnew) {
    const std::string first = shown();
    const auto certificate = crypto::Certificate::from_der(first);
    ASSERT_TRUE(certificate) << first;
    const auto until_due = SystemTime(certificate->not_after()) - 30 * 24h - clock.system_now();
    clock.advance(until_due - 1s);
    EXPECT_EQ(shown(), first);
    clock.advance(2s);
    const std::string second = shown();
    EXPECT_NE(second, first);
    const auto renewed = crypto::Certificate::from_der(second);
    ASSERT_TRUE(renewed) << second;
    EXPECT_GT(SystemTime(renewed->not_after()), SystemTime(certificate->not_after()));
    EXPECT_EQ(shown(), second);
}

TEST_F(GatewayTlsTest, AClockThatIsSetForwardAndBackAgainLeavesNoCertificateThatIsNotValidYet) {
    const std::string first = shown();
    clock.set_system_clock(340 * 24h);
    const std::string second = shown();
    EXPECT_NE(second, first);
    clock.set_system_clock(-340 * 24h);
    const std::string third = shown();
    const auto certificate = crypto::Certificate::from_der(third);
    ASSERT_TRUE(certificate) << third;
    EXPECT_TRUE(certificate->is_valid_at(clock.system_now()));
}

}  // namespace
}  // namespace crab::rtp
