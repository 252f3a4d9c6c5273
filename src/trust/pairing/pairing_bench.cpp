// One pairing, both sides in one process with stores in memory: eight messages, six signatures and
// their checks, two X25519 agreements on each side, a new P-256 key and its request, one
// certificate issued and checked.

#include "base/test_clock.hpp"
#include "trust/pairing/gateway_pairing.hpp"
#include "trust/pairing/remote_pairing.hpp"
#include "trust/pairing/remote_store_memory.hpp"
#include "trust/pairing/test_peer_store.hpp"

#include <benchmark/benchmark.h>

namespace crab::trust {
namespace {

void BM_Pairing(benchmark::State& state) {
    const FakeClock clock;
    crypto::SystemRandom random;
    const auto gateway_key = crypto::Ed25519Key::generate(random);
    const auto remote_key = crypto::Ed25519Key::generate(random);
    const auto agreement_key = crypto::X25519Key::generate(random);
    const auto authority =
        crypto::CertificateAuthority::create("crab-pairing-ca-bench", clock.system_now());
    const PeerName name{ComponentType::kToolHost, "memory"};
    for (auto _ : state) {
        PeerStoreMemory peers;
        RemoteStoreMemory store;
        GatewayPairing gateway(
            {"bench", gateway_key, authority, peers, clock, random},
            *plan_pairing(peers,
                          {.name = name, .endpoint = "ws://127.0.0.1:4000", .remote_key = {}}, {}),
            kNoDeadline);
        RemotePairing remote(
            {name, remote_key, agreement_key, gateway_key.public_key(), "", {}, store, clock},
            kNoDeadline);
        std::vector<std::string> to_remote = gateway.start(std::nullopt).send;
        while (!to_remote.empty()) {
            const auto answers = remote.on_message(to_remote.front()).send;
            to_remote.clear();
            for (const std::string& answer : answers) {
                for (auto& text : gateway.on_message(answer).send)
                    to_remote.push_back(std::move(text));
            }
        }
        if (!gateway.peer()) state.SkipWithError("the pairing failed");
    }
}
BENCHMARK(BM_Pairing)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace crab::trust
