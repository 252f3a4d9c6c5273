// Both drivers against each other: real sockets, real TLS, stores in memory.

#include "adapters/rtp/pairing/pairing_dialer.hpp"
#include "adapters/rtp/pairing/pairing_remote.hpp"
#include "base/task/spawn.hpp"
#include "net/http/http_server.hpp"
#include "net/http/test_support.hpp"
#include "net/loop/listener.hpp"
#include "net/loop/loop_group.hpp"
#include "trust/pairing/remote_store_memory.hpp"
#include "trust/pairing/test_peer_store.hpp"

#include <gtest/gtest.h>

#include <future>

namespace crab::rtp {
namespace {

using Kind = trust::PairingRequest::Kind;
using net::TlsContext;
using trust::PairingCode;

class PairingConnectionTest : public testing::Test {
protected:
    /// The remote's listener.
    class Service final : public net::HttpService {
    public:
        explicit Service(PairingRemote& remote) : remote_(remote) {}
        std::optional<net::Upgrade> upgrade(const net::HttpRequest& request,
                                            const net::WebSocketOffer& offer) override {
            return remote_.upgrade(request, offer);
        }
        Task<void> serve(net::HttpExchange& exchange) override {
            exchange.respond_error(404, "NOT_FOUND", "no such path");
            co_return;
        }

    private:
        PairingRemote& remote_;
    };

    void listen(std::shared_ptr<TlsContext> tls = nullptr) {
        is_tls = tls != nullptr;
        net::HttpServerOptions options;
        options.tls = std::move(tls);
        server = std::make_unique<net::HttpServer>(loops.at(0), service, std::move(options));
        listener = std::move(net::Listener::bind(net::Endpoint::tcp("127.0.0.1", 0)).value());
        ASSERT_TRUE(server->listen(*listener));
        loops.start();
    }
    std::shared_ptr<TlsContext> tls() {
        TlsContext::Options options;
        options.versions = TlsContext::Versions::k13Only;
        options.peer_check = TlsContext::PeerCheck::kAcceptAny;
        options.certificate.text = bootstrap.to_pem();
        options.key.text = bootstrap_key.to_pem().reveal();
        return TlsContext::make(std::move(options)).value();
    }
    trust::RemotePairing::Remote identity() {
        return {.name = name,
                .key = remote_key,
                .agreement_key = agreement_key,
                .gateway_key = expected_gateway,
                .shown_fingerprint = is_tls ? bootstrap.fingerprint() : "",
                .endpoint_names = {},
                .store = remote_store,
                .clock = clock};
    }
    std::string endpoint(std::string_view path = "/v1/pair") const {
        return std::string(is_tls ? "wss://" : "ws://") + listener->endpoint().text() +
               std::string(path);
    }
    trust::PairingResult<Paired> pair(trust::PairingRequest request) {
        std::promise<trust::PairingResult<Paired>> done;
        loops.at(0).post([&] {
            spawn(
                loops.at(0).executor(), dialer.pair(std::move(request)),
                [&](const std::exception_ptr&, std::optional<trust::PairingResult<Paired>> result) {
                    done.set_value(std::move(*result));
                });
        });
        return done.get_future().get();
    }
    trust::PairingResult<Paired> pair(std::string_view path = "/v1/pair") {
        return pair({.name = name, .endpoint = endpoint(path)});
    }

    void TearDown() override {
        if (!server) return;
        std::promise<void> stopped;
        loops.at(0).post([&] { remote.stop([&] { server->stop([&] { stopped.set_value(); }); }); });
        stopped.get_future().wait();
        loops.stop_and_join();
    }

    RealClock clock;
    crypto::SystemRandom random;
    const trust::PeerName name{trust::ComponentType::kToolHost, "memory"};
    const crypto::Ed25519Key remote_key = crypto::Ed25519Key::generate(random);
    const crypto::X25519Key agreement_key = crypto::X25519Key::generate(random);
    const crypto::PrivateKey bootstrap_key = crypto::PrivateKey::generate_p256();
    const crypto::Certificate bootstrap = crypto::make_self_signed(
        bootstrap_key, {"memory", {}}, clock.system_now(), std::chrono::hours(24));
    const trust::GatewayKeys keys{
        {"home", crypto::Ed25519Key::generate(random)},
        crypto::CertificateAuthority::create("crab-pairing-ca-home", clock.system_now())};
    crypto::Ed25519PublicKey expected_gateway = keys.identity.key.public_key();
    trust::PeerStoreMemory peers;
    /// A disk that is slow to store the end of a pairing: complete() waits for finish().
    class SlowStore final : public trust::RemoteStoreMemory {
    public:
        Result<void> complete(std::string_view pairing_id) override {
            if (slow) finished.get_future().wait();
            return RemoteStoreMemory::complete(pairing_id);
        }
        void finish() { finished.set_value(); }
        bool slow = false;

    private:
        std::promise<void> finished;
    };
    SlowStore remote_store;
    static constexpr Milliseconds longest_turn{300};
    bool is_tls = false;
    BlockingPool pool{2};
    net::NameLookups names{1};
    net::LoopGroup loops{1, clock};
    GatewayTls gateway_tls{keys, clock};
    std::vector<PairingUpdate> news;
    PairingDialer dialer{{.loop = loops.at(0),
                          .pool = pool,
                          .names = names,
                          .keys = keys,
                          .store = peers,
                          .random = random,
                          .tls = gateway_tls,
                          .rules = {},
                          .told = [this](const PairingUpdate& one) { news.push_back(one); }}};
    PairingRemote remote{loops.at(0),
                         pool,
                         {.path = "/v1/pair",
                          .identity = [this] { return identity(); },
                          .longest_turn = longest_turn}};
    Service service{remote};
    std::unique_ptr<net::HttpServer> server;
    std::unique_ptr<net::Listener> listener;
};

TEST_F(PairingConnectionTest, BothSidesStoreTheSameCertificate) {
    listen();
    const auto paired = pair();
    ASSERT_TRUE(paired) << paired.error().message;
    EXPECT_EQ(peers.find_peer(name).value(), paired->peer);
    EXPECT_EQ(paired->peer.status, trust::PeerStatus::kActive);
    EXPECT_EQ(peers.certificates.at(0).state, trust::CertificateState::kCurrent);
    EXPECT_EQ(peers.certificates.at(0).certificate_pem,
              remote_store.certificates.shown()->certificate_pem);
}

TEST_F(PairingConnectionTest, TheRootPathPairsToo) {
    listen();
    EXPECT_TRUE(pair("/"));
    EXPECT_EQ(pair("/v1/other").error().code, PairingCode::kUnreachable);
}

TEST_F(PairingConnectionTest, OverTlsTheConnectionsOwnCertificateIsTheOneThatIsSigned) {
    listen(tls());
    const auto paired = pair();
    ASSERT_TRUE(paired) << paired.error().message;
    EXPECT_EQ(peers.find_active_at(endpoint()).value()->name, name);
}

TEST_F(PairingConnectionTest, ARemoteOfAnotherGatewaySaysSoAndStoresNothing) {
    expected_gateway = remote_key.public_key();
    listen();
    EXPECT_EQ(pair().error().code, PairingCode::kGatewayKeyMismatch);
    EXPECT_TRUE(peers.peers.empty());
    EXPECT_EQ(remote_store.certificates.shown(), nullptr);
}

TEST_F(PairingConnectionTest, AStoreThatFailsIsPersistFailedOnBothSides) {
    listen();
    peers.fail_from_write = 2;  // the certificate is stored, the commit is not
    EXPECT_EQ(pair().error().code, PairingCode::kPersistFailed);
    EXPECT_NE(peers.find_peer(name).value()->status, trust::PeerStatus::kActive);
}

TEST_F(PairingConnectionTest, WhatIsDialledIsToldFromItsBeginningToItsEnd) {
    listen();
    const auto paired = pair();
    ASSERT_TRUE(paired);
    ASSERT_EQ(news.size(), 2u);
    EXPECT_EQ(event_type_of(news[0].kind), "pairing.started");
    EXPECT_EQ(event_type_of(news[1].kind), "pairing.completed");
    EXPECT_EQ(news[0].pairing_id, paired->pairing_id);
    EXPECT_EQ(news[0].remote_uri, endpoint());
    EXPECT_EQ(news[1].peer, paired->peer);
    expected_gateway = remote_key.public_key();
    EXPECT_FALSE(pair());
    ASSERT_EQ(news.size(), 4u);
    EXPECT_EQ(news[3].error->code, PairingCode::kGatewayKeyMismatch);
    std::string payload;
    json::Writer writer(payload);
    append_pairing_payload(writer, news[3]);
    EXPECT_EQ(payload.find(
                  R"({"pairing_id":")" + news[2].pairing_id + R"(","remote_uri":")" + endpoint() +
                  R"(","initiated_via":"admin_socket","error_code":"GATEWAY_KEY_MISMATCH",)"),
              0u)
        << payload;
    EXPECT_FALSE(pair({.name = name, .endpoint = "ws://192.0.2.1/"}));  // not dialled, not told
    EXPECT_EQ(news.size(), 4u);
}

TEST_F(PairingConnectionTest, WhileTheEndIsBeingStoredTheNextPairingWaitsForItsTurn) {
    remote_store.slow = true;
    listen();
    ASSERT_TRUE(pair());  // the gateway has all it needs
    const auto late = pair({.name = name, .endpoint = endpoint(), .kind = Kind::kReplace});
    ASSERT_FALSE(late);  // the disk took longer than the turn
    EXPECT_EQ(late.error().code, PairingCode::kBusy);
    std::promise<trust::PairingResult<Paired>> done;
    loops.at(0).post([&] {
        spawn(loops.at(0).executor(),
              dialer.pair({.name = name, .endpoint = endpoint(), .kind = Kind::kReplace}),
              [&](const std::exception_ptr&, std::optional<trust::PairingResult<Paired>> result) {
                  done.set_value(std::move(*result));
              });
    });
    remote_store.slow = false;
    remote_store.finish();
    const auto again = done.get_future().get();
    ASSERT_TRUE(again) << again.error().message;
}

/// A connection on the pairing path that says nothing, or `text`.
class Stranger {
public:
    Stranger(const net::Endpoint& endpoint, std::string_view text) : socket(endpoint) {
        socket.send(
            "GET /v1/pair HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: "
            "websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n");
        EXPECT_NE(socket.read_until("\r\n\r\n").find(" 101 "), std::string::npos);
        if (text.empty()) return;
        std::string frame;
        net::append_frame(frame, net::Opcode::kText, text, net::Mask(7));
        socket.send(frame);
    }
    net::test::RawClient socket;
};

TEST_F(PairingConnectionTest, SilentConnectionsAndThoseThatCannotSignHoldNobodyUp) {
    listen();
    std::vector<std::unique_ptr<Stranger>> strangers;
    for (int i = 0; i < 16; ++i)
        strangers.push_back(std::make_unique<Stranger>(listener->endpoint(), ""));
    for (int i = 0; i < 4; ++i)
        strangers.push_back(std::make_unique<Stranger>(listener->endpoint(),
                                                       R"({"type":"pair.init","version":"v1"})"));
    const auto paired = pair();
    ASSERT_TRUE(paired) << paired.error().message;
    EXPECT_TRUE(pair({.name = name, .endpoint = endpoint(), .kind = Kind::kReplace}));
    EXPECT_NE(strangers.back()->socket.read_to_end().find("PROTOCOL_VIOLATION"), std::string::npos);
    EXPECT_NE(strangers.front()->socket.read_to_end().find("TIMEOUT"), std::string::npos)
        << "cut before the time of a handshake is over";
}

TEST_F(PairingConnectionTest, AMessageThatPassesItsLimitEndsTheHandshakeBeforeItIsWhole) {
    listen();
    Stranger stranger(listener->endpoint(), "");
    std::string frame;
    net::append_frame(frame, net::Opcode::kText, std::string(40'000, ' '), net::Mask(7));
    frame[0] = static_cast<char>(frame[0] & 0x7f);  // its first fragment
    stranger.socket.send(frame);
    frame.clear();
    net::append_frame(frame, net::Opcode::kContinuation, std::string(40'000, ' '), net::Mask(7));
    frame[0] = static_cast<char>(frame[0] & 0x7f);
    stranger.socket.send(frame);
    const std::string end = stranger.socket.read_to_end();
    EXPECT_NE(end.find("PROTOCOL_VIOLATION"), std::string::npos) << end;
    EXPECT_NE(end.find("\x03\xf1"), std::string::npos) << "1009";
}

TEST_F(PairingConnectionTest, OnlyKnownPeersAreRenewed) {
    listen();
    EXPECT_EQ(pair({.name = name, .kind = Kind::kRenew}).error().code, PairingCode::kInvalidArgs);
}

}  // namespace
}  // namespace crab::rtp
