// Any text, given to both sides of a pairing at each of their steps: what reads as a message writes
// and signs itself as it was read, and no text of somebody without the keys gets either side a step
// further.

#include "base/fuzz_check.hpp"
#include "base/test_clock.hpp"
#include "trust/pairing/gateway_pairing.hpp"
#include "trust/pairing/remote_pairing.hpp"
#include "trust/pairing/remote_store_memory.hpp"
#include "trust/pairing/test_peer_store.hpp"

#include <vector>

namespace {

using namespace crab;
using namespace crab::trust;

/// An honest handshake, with copies of each side as it waited for each message.
struct Checkpoints {
    FakeClock clock;
    crypto::SystemRandom random;
    crypto::Ed25519Key gateway_key = crypto::Ed25519Key::generate(random),
                       remote_key = crypto::Ed25519Key::generate(random);
    crypto::X25519Key agreement_key = crypto::X25519Key::generate(random);
    crypto::CertificateAuthority authority =
        crypto::CertificateAuthority::create("crab-pairing-ca-fuzz", clock.system_now());
    PeerStoreMemory peers;
    RemoteStoreMemory remote_store;
    std::vector<GatewayPairing> gateways;
    std::vector<RemotePairing> remotes;

    Checkpoints() {
        const PeerName name{ComponentType::kToolHost, "memory"};
        GatewayPairing gateway(
            {"fuzz", gateway_key, authority, peers, clock, random},
            *plan_pairing(peers, {.name = name, .endpoint = "ws://[::1]", .remote_key = {}}, {}),
            clock.steady_now() + kPairingTimeout);
        RemotePairing remote({name,
                              remote_key,
                              agreement_key,
                              gateway_key.public_key(),
                              "",
                              {},
                              remote_store,
                              clock},
                             clock.steady_now() + kPairingTimeout);
        std::vector<std::string> to_remote = gateway.start(std::nullopt).send;
        while (!to_remote.empty()) {
            remotes.push_back(remote);
            const auto to_gateway = remote.on_message(to_remote.front()).send;
            to_remote.clear();
            for (const std::string& text : to_gateway) {
                gateways.push_back(gateway);
                for (auto& answer : gateway.on_message(text).send)
                    to_remote.push_back(std::move(answer));
            }
        }
        require(gateways.size() == 4 && remotes.size() == 4 && gateway.peer());
    }
};

template <class Message>
void read_back(const MessageText& text) {
    const auto message = text.as<Message>(std::nullopt);
    if (!message) return;
    const std::string wire = to_wire(*message);
    if (wire.size() > kMostMessageBytes) return;  // escapes can make it longer than what came
    const auto again = MessageText::parse(wire);
    require(again.has_value());
    const auto same = again->as<Message>(message->pairing_id);
    require(same && to_wire(*same) == wire);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto read = MessageText::parse(text)) {
        read_back<PairInit>(*read);
        read_back<PairIdentity>(*read);
        read_back<PairChallenge>(*read);
        read_back<PairChallengeResponse>(*read);
        read_back<PairCsrRequest>(*read);
        read_back<PairCsrIssued>(*read);
        read_back<PairCsrInstalled>(*read);
        read_back<PairComplete>(*read);
    }
    static const Checkpoints checkpoints;
    for (GatewayPairing gateway : checkpoints.gateways) {
        const PairingStep step = gateway.on_message(text);
        require(step.error && step.close && step.send.size() <= 1 && !gateway.peer());
    }
    for (RemotePairing remote : checkpoints.remotes) {
        const PairingStep step = remote.on_message(text);
        require(step.error && step.close && step.send.size() <= 1);
    }
    return 0;
}
