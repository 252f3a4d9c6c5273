#include "apps/crab/gateway/grpc_side.hpp"

#include <atomic>
#include <future>
#include <utility>

namespace crab::app {
namespace {

constexpr Milliseconds kSlowReader{60'000};  // docs/protocols/sw4rm.md, section 3

}  // namespace

/// What one event loop has of it.
struct GrpcSide::Side {
    Side(const Loop& of, const config::GrpcOptions& config, const Services& services, net::Http2ServerOptions options)
        : loop(of.loop), identity(services.tokens, config.open_loopback),
          front({.pipeline = of.pipeline,
                 .authenticate = [this](std::string_view authorization, const net::PeerAddress& peer) { return identity.find(authorization, peer); },
                 .cancel = services.cancel}),
          server(of.loop, front, std::move(options)) {}

    net::EventLoop& loop;
    CallerIdentity identity;
    sw4rm::Front front;
    net::Http2Server server;
};

GrpcSide::GrpcSide() = default;
GrpcSide::~GrpcSide() = default;

Result<std::unique_ptr<GrpcSide>> GrpcSide::open(const config::GrpcOptions& config, const std::vector<Loop>& loops, const Services& services) {
    net::Http2ServerOptions options;
    options.max_connections = config.max_connections;
    options.count = std::make_shared<std::atomic<std::size_t>>(0);
    options.connection.stall = kSlowReader;
    if (config.tls) {
        net::TlsContext::Options tls;
        tls.certificate.file = config.tls->cert;
        tls.key.file = config.tls->key;
        tls.alpn = "h2";
        auto made = net::TlsContext::make(std::move(tls));
        if (!made) return fail(std::move(made.error()));
        options.tls = std::move(*made);
    }
    auto listener = net::Listener::bind(net::Endpoint::tcp(config.address->host, config.address->port));
    if (!listener) return fail(std::move(listener.error()));
    std::unique_ptr<GrpcSide> side(new GrpcSide());
    side->listener_ = std::move(*listener);
    for (const Loop& loop : loops) {
        side->sides_.push_back(std::make_unique<Side>(loop, config, services, options));
        if (auto listening = side->sides_.back()->server.listen(*side->listener_); !listening) return fail(std::move(listening.error()));
    }
    return side;
}

void GrpcSide::drain() {
    for (const auto& side : sides_) side->loop.post([raw = side.get()] { raw->front.drain(); });
}

void GrpcSide::cancel() {
    for (const auto& side : sides_) side->loop.post([raw = side.get()] { raw->server.cancel(); });
}

void GrpcSide::stop(Milliseconds limit) {
    std::vector<std::promise<void>> ended(sides_.size());
    for (std::size_t i = 0; i < sides_.size(); ++i) {
        sides_[i]->loop.post([this, i, &ended] { sides_[i]->server.stop([i, &ended] { ended[i].set_value(); }); });
    }
    const auto patience = std::chrono::steady_clock::now() + limit;
    for (auto& end : ended) end.get_future().wait_until(patience);
    listener_.reset();
}

}  // namespace crab::app
