#pragma once

#include "base/test_clock.hpp"
#include "trust/pairing/gateway_pairing.hpp"
#include "trust/pairing/remote_pairing.hpp"
#include "trust/pairing/remote_store_memory.hpp"
#include "trust/pairing/test_peer_store.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <string>
#include <utility>

namespace crab::trust {

/// The type of a message's text, read as no parser of ours does.
inline std::string type_of(std::string_view text) {
    const std::size_t begin = text.find("\"type\":\"") + 8;
    return std::string(text.substr(begin, text.find('"', begin) - begin));
}

/// A message read, changed, signed again with `key` and written.
template <class Message>
void change(std::string& text, const crypto::Ed25519Key& key,
            const std::function<void(Message&)>& edit) {
    Message message = *MessageText::parse(text)->template as<Message>(std::nullopt);
    edit(message);
    text = to_wire(signed_by(key, std::move(message)));
}

inline PairError complaint_in(const PairingStep& step) {
    EXPECT_EQ(step.send.size(), 1u);
    const auto complaint =
        step.send.empty() ? std::nullopt : MessageText::parse(step.send.back())->as_error();
    EXPECT_TRUE(complaint);
    return complaint.value_or(PairError{});
}

/// A gateway and a remote in one process. A test may change each text on its way and sees how both
/// sides ended.
class HandshakeTest : public testing::Test {
protected:
    using Kind = PairingRequest::Kind;
    struct Ends {
        PairingStep gateway, remote;
    };
    /// Sees each text before it arrives and may change it; false loses it and all that follow.
    using OnTheWay = std::function<bool(std::string& text)>;

    FakeClock clock;
    crypto::SystemRandom random;
    crypto::Ed25519Key gateway_key = crypto::Ed25519Key::generate(random);
    crypto::Ed25519Key remote_key = crypto::Ed25519Key::generate(random);
    crypto::X25519Key agreement_key = crypto::X25519Key::generate(random);
    crypto::CertificateAuthority authority =
        crypto::CertificateAuthority::create("crab-pairing-ca-home", clock.system_now());
    PeerStoreMemory peers;
    RemoteStoreMemory remote_store;
    PeerName name{ComponentType::kToolHost, "memory"};
    std::string ws_endpoint = "ws://127.0.0.1:4000/v1/pair";
    std::string wss_endpoint = "wss://memory.example:4000/v1/pair";
    crypto::PrivateKey bootstrap_key = crypto::PrivateKey::generate_p256();
    crypto::Certificate bootstrap = crypto::make_self_signed(
        bootstrap_key, {"memory", {}}, clock.system_now(), std::chrono::hours(24 * 3650));

    PairingRequest request(Kind kind = Kind::kPair, std::string endpoint = {}) const {
        return {.name = name,
                .endpoint = endpoint.empty() ? ws_endpoint : std::move(endpoint),
                .remote_key = {},
                .kind = kind};
    }
    PairingPlan plan(const PairingRequest& wanted) {
        auto planned = plan_pairing(peers, wanted, {});
        EXPECT_TRUE(planned) << planned.error().message;
        return std::move(*planned);
    }
    GatewayPairing gateway(const PairingRequest& wanted) {
        return {{.id = "home",
                 .key = gateway_key,
                 .authority = authority,
                 .store = peers,
                 .clock = clock,
                 .random = random},
                plan(wanted),
                clock.steady_now() + kPairingTimeout};
    }
    GatewayPairing gateway() { return gateway(request()); }
    /// What the remote shows in TLS now.
    crypto::Certificate shown() const {
        const auto* const certificate = remote_store.certificates.shown();
        return certificate == nullptr
                   ? bootstrap
                   : *crypto::Certificate::from_pem(certificate->certificate_pem);
    }
    RemotePairing remote(bool tls = false) {
        return {
            {.name = name,
             .key = remote_key,
             .agreement_key = agreement_key,
             .gateway_key = gateway_key.public_key(),
             .shown_fingerprint = tls ? shown().fingerprint() : std::string(),
             .endpoint_names = {.uris = {}, .dns_names = {"wanted.example"}, .ip_addresses = {}},
             .store = remote_store,
             .clock = clock},
            clock.steady_now() + kPairingTimeout};
    }

    /// Lets both sides talk until both have ended.
    Ends run(GatewayPairing& left, RemotePairing& right, const OnTheWay& on_the_way = {}) {
        Ends ends;
        std::deque<std::pair<bool, std::string>> wire;  // to the remote?, text
        bool lost = false;
        const auto put = [&](bool to_remote, const PairingStep& step) {
            for (std::string text : step.send) {
                lost = lost || (on_the_way && !on_the_way(text));
                if (!lost) wire.emplace_back(to_remote, std::move(text));
            }
        };
        const bool tls = left.plan().endpoint.tls;
        ends.gateway = left.start(tls ? std::optional(shown()) : std::nullopt);
        put(true, ends.gateway);
        while (!wire.empty()) {
            const auto [to_remote, text] = std::move(wire.front());
            wire.pop_front();
            PairingStep& end = to_remote ? ends.remote : ends.gateway;
            if (end.close) continue;  // it does not read any more
            end = to_remote ? right.on_message(text) : left.on_message(text);
            put(!to_remote, end);
        }
        if (!ends.gateway.close) ends.gateway = left.on_closed();
        if (!ends.remote.close) ends.remote = right.on_closed();
        return ends;
    }
    Ends run(const PairingRequest& wanted, const OnTheWay& on_the_way = {}) {
        auto left = gateway(wanted);
        auto right = remote(left.plan().endpoint.tls);
        return run(left, right, on_the_way);
    }
    void pair(const PairingRequest& wanted) {
        const Ends ends = run(wanted);
        ASSERT_TRUE(ends.gateway.succeeded()) << ends.gateway.error->message;
        ASSERT_TRUE(ends.remote.succeeded()) << ends.remote.error->message;
    }
    void pair() { pair(request()); }

    static std::optional<PairingCode> code_of(const PairingStep& step) {
        return step.error ? std::optional(step.error->code) : std::nullopt;
    }
};

}  // namespace crab::trust
