#include "cli/pair_test_remote.hpp"

#include "adapters/rtp/pairing/pairing_remote.hpp"
#include "net/http/http_server.hpp"
#include "net/loop/listener.hpp"
#include "net/loop/loop_group.hpp"
#include "trust/pairing/remote_store_memory.hpp"

#include <future>
#include <utility>

#include <fmt/format.h>

namespace crab::cli {
namespace {

struct ListenAddress {
    net::Endpoint endpoint;
    std::string path;
};

Result<ListenAddress> parse_listen_address(std::string_view text, const std::string& listen_path) {
    constexpr std::string_view kScheme = "ws://";
    const auto wrong = [] {
        return fail(ErrorCode::kInvalidArgs,
                    "--listen-addr: write ws://127.0.0.1:0/v1/pair, on a loopback address");
    };
    if (!listen_path.empty() && !listen_path.starts_with('/'))
        return fail(ErrorCode::kInvalidArgs, "--listen-path: it begins with /");
    if (text.starts_with(kScheme)) text.remove_prefix(kScheme.size());
    const std::size_t slash = std::min(text.find('/'), text.size());
    auto endpoint = net::parse_endpoint(text.substr(0, slash));
    if (!endpoint || endpoint->is_unix()) return wrong();
    const bool loopback = endpoint->host == "localhost" || endpoint->host == "::1" ||
                          endpoint->host.starts_with("127.");
    if (!loopback) return wrong();
    if (!listen_path.empty()) return ListenAddress{std::move(*endpoint), listen_path};
    return ListenAddress{std::move(*endpoint),
                         slash == text.size() ? "/v1/pair" : std::string(text.substr(slash))};
}

/// Nothing but the pairing WebSocket.
class PairService final : public net::HttpService {
public:
    explicit PairService(rtp::PairingRemote& remote) : remote_(remote) {}
    std::optional<net::Upgrade> upgrade(const net::HttpRequest& request,
                                        const net::WebSocketOffer& offer) override {
        return remote_.upgrade(request, offer);
    }
    Task<void> serve(net::HttpExchange& exchange) override {
        if (remote_.owns(exchange.request().path())) {
            exchange.respond_error(426, "INVALID_ARGS", "this is a WebSocket",
                                   {{"Upgrade", "websocket"}});
        } else {
            exchange.respond_error(404, "NOT_FOUND", "no such path");
        }
        co_return;
    }

private:
    rtp::PairingRemote& remote_;
};

}  // namespace

/// In the order of construction; what is used outlives its users.
struct PairTestRemote::Running {
    Running(Options given, std::string listen_path, std::unique_ptr<net::Listener> bound)
        : options(std::move(given)),
          path(std::move(listen_path)),
          listener(std::move(bound)),
          remote(loops.at(0), pool,
                 {.path = path,
                  .identity = [this] { return identity(); },
                  .on_end = [this](const trust::PairingStep& step) { ended(step); }}),
          service(remote),
          server(loops.at(0), service) {}

    trust::RemotePairing::Remote identity() {
        return {.name = {trust::ComponentType::kToolHost, options.component_id},
                .key = key,
                .agreement_key = agreement_key,
                .gateway_key = options.gateway_key,
                .shown_fingerprint = {},
                .endpoint_names = {},
                .store = store,
                .clock = clock};
    }
    void ended(const trust::PairingStep& step) {
        if (!std::exchange(has_ended, true)) end.set_value(step);
    }

    const Options options;
    const std::string path;
    RealClock clock;
    crypto::SystemRandom random;
    const crypto::Ed25519Key key = crypto::Ed25519Key::generate(random);
    const crypto::X25519Key agreement_key = crypto::X25519Key::generate(random);
    trust::RemoteStoreMemory store;
    std::promise<trust::PairingStep> end;
    std::future<trust::PairingStep> end_seen = end.get_future();
    bool has_ended = false;
    BlockingPool pool{1};
    net::LoopGroup loops{1, clock};
    std::unique_ptr<net::Listener> listener;
    rtp::PairingRemote remote;
    PairService service;
    net::HttpServer server;
};

Result<std::unique_ptr<PairTestRemote>> PairTestRemote::start(Options options) {
    auto address = parse_listen_address(options.listen_address, options.listen_path);
    if (!address) return fail(std::move(address.error()));
    auto listener = net::Listener::bind(address->endpoint);
    if (!listener) return fail(std::move(listener.error()));
    auto running = std::make_unique<Running>(std::move(options), std::move(address->path),
                                             std::move(*listener));
    if (auto listening = running->server.listen(*running->listener); !listening)
        return fail(std::move(listening.error()));
    running->loops.start();
    return std::unique_ptr<PairTestRemote>(new PairTestRemote(std::move(running)));
}

PairTestRemote::PairTestRemote(std::unique_ptr<Running> running) : running_(std::move(running)) {}

PairTestRemote::~PairTestRemote() {
    std::promise<void> stopped;
    running_->loops.at(0).post([&] {
        running_->remote.stop([&] { running_->server.stop([&] { stopped.set_value(); }); });
    });
    stopped.get_future().wait();
    running_->loops.stop_and_join();
}

std::string PairTestRemote::endpoint() const {
    return fmt::format("ws://{}{}", running_->listener->endpoint().text(), running_->path);
}
const crypto::Ed25519PublicKey& PairTestRemote::public_key() const {
    return running_->key.public_key();
}

Result<trust::PairingStep> PairTestRemote::wait_for_end(Deadline deadline) {
    if (running_->end_seen.wait_until(deadline) != std::future_status::ready)
        return fail(ErrorCode::kTimeout, "the test's remote saw no end of the handshake");
    return running_->end_seen.get();
}

}  // namespace crab::cli
