#include "gateway/grpc_side.hpp"

#include "adapters/rtp/calls/tool_routes.hpp"
#include "trust/request_authentication.hpp"

#include <atomic>
#include <future>
#include <map>
#include <utility>

namespace crab::gateway {
namespace {

constexpr Milliseconds kSlowReader{60'000};  // docs/protocols/sw4rm.md, section 3

}  // namespace

/// What one event loop has of it.
struct GrpcSide::Side {
    Side(const Loop& of, const config::GrpcOptions& config, const Services& services,
         net::Http2ServerOptions options)
        : loop(of.loop),
          authentication(of.credentials, config.open_loopback),
          certificates(services.certificates),
          front({.pipeline = of.pipeline,
                 .authenticate =
                     [this](std::string_view authorization, const net::GrpcCall& call) {
                         return caller_of(authorization, call);
                     },
                 .cancel = services.cancel,
                 .register_provider = services.register_provider,
                 .budgets = &services.budgets}),
          server(of.loop, front, std::move(options)) {}

    // The first credential that is present decides alone: docs/protocols/sw4rm.md, section 2.
    Result<core::PrincipalRef> caller_of(std::string_view authorization,
                                         const net::GrpcCall& call) {
        if (!authorization.empty()) return bearer(authorization, call);
        if (const std::string der = call.stream().peer_certificate_der(); !der.empty())
            return certificates.find(der);
        if (!call.peer().is_unix()) return bearer({}, call);
        // The socket's mode lets nobody else in; this holds even if somebody widens it.
        if (!rtp::is_own_user(call.peer()))
            return fail(ErrorCode::kUnauthenticated,
                        "this socket is for the gateway's own user; send a bearer token");
        core::PrincipalRef& known = local[call.peer().uid()];
        if (!known) known = trust::local_operator(call.peer().uid());
        return known;
    }

    Result<core::PrincipalRef> bearer(std::string_view authorization, const net::GrpcCall& call) {
        const std::string_view token = trust::bearer_of(authorization);
        auto proven = authentication.authenticate(token, [&] {
            return trust::RequestPeer{.loopback = call.peer().is_loopback(),
                                      .text = call.peer().ip()};
        });
        if (!proven) return fail(std::move(proven.error()));
        return std::move(proven->principal);
    }

    net::EventLoop& loop;
    const trust::RequestAuthentication authentication;
    PeerCertificates certificates;
    std::map<uid_t, core::PrincipalRef> local;   ///< by user: this one, and root
    sw4rm::Front front;
    net::Http2Server server;
};

GrpcSide::GrpcSide() = default;
GrpcSide::~GrpcSide() = default;

Result<std::unique_ptr<GrpcSide>> GrpcSide::open(const config::GrpcOptions& config,
                                                 const std::vector<Loop>& loops,
                                                 const Services& services) {
    net::Http2ServerOptions options;
    options.max_connections = config.max_connections;
    options.count = std::make_shared<std::atomic<std::size_t>>(0);
    options.connection.stall = kSlowReader;
    if (config.tls) {
        net::TlsContext::Options tls;
        tls.certificate.file = config.tls->cert;
        tls.key.file = config.tls->key;
        tls.alpn = "h2";
        // whose it is, PeerCertificates finds out
        tls.peer_check = net::TlsContext::PeerCheck::kAcceptAny;
        auto made = net::TlsContext::make(std::move(tls));
        if (!made) return fail(std::move(made.error()));
        options.tls = std::move(*made);
    }
    std::unique_ptr<GrpcSide> made(new GrpcSide());
    if (config.address) {
        for (const Loop& loop : loops)
            made->sides_.push_back(std::make_unique<Side>(loop, config, services, options));
        if (auto listening = made->listen(
                net::Endpoint::tcp(config.address->host, config.address->port), made->sides_);
            !listening)
            return fail(std::move(listening.error()));
    }
    if (!config.unix_socket.empty()) {
        options.tls = nullptr;
        // one loop accepts for all
        made->sides_.push_back(std::make_unique<Side>(loops.front(), config, services, options));
        const std::span<const std::unique_ptr<Side>> last(&made->sides_.back(), 1);
        if (auto listening = made->listen(net::Endpoint::unix_socket(config.unix_socket), last);
            !listening)
            return fail(std::move(listening.error()));
    }
    return made;
}

Result<void> GrpcSide::listen(const net::Endpoint& endpoint,
                              std::span<const std::unique_ptr<Side>> sides) {
    auto listener = net::Listener::bind(endpoint);
    if (!listener) return fail(std::move(listener.error()));
    listeners_.push_back(std::move(*listener));
    for (const auto& side : sides) {
        if (auto listening = side->server.listen(*listeners_.back()); !listening)
            return fail(std::move(listening.error()));
    }
    return {};
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
        sides_[i]->loop.post(
            [this, i, &ended] { sides_[i]->server.stop([i, &ended] { ended[i].set_value(); }); });
    }
    const auto patience = std::chrono::steady_clock::now() + limit;
    for (auto& end : ended) end.get_future().wait_until(patience);
    listeners_.clear();
}

}  // namespace crab::gateway
