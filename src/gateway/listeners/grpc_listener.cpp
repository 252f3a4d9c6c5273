#include "gateway/listeners/grpc_listener.hpp"

#include "gateway/context/inherited_sockets.hpp"
#include "gateway/listeners/certificate_file.hpp"
#include "net/loop/own_user.hpp"
#include "trust/request_authentication.hpp"

#include <future>
#include <map>
#include <utility>

namespace crab::gateway {
namespace {

constexpr Milliseconds kSlowReader{60'000};  // docs/protocols/sw4rm.md, section 3
constexpr std::chrono::seconds kDrain{30};   // section 2
constexpr std::chrono::seconds kAnswers{2};  // for calls that were cancelled to be answered
constexpr std::chrono::seconds kClose{10};
constexpr std::string_view kFront = "grpc";

}  // namespace

/// What one event loop has of it.
struct GrpcListener::LoopServer {
    struct Services {
        PeerCertificates::Services certificates;
        ByteBudgets& budgets;
        sw4rm::CallService::Cancel cancel;
        sw4rm::ConnectorService::Register register_provider;
    };
    LoopServer(CallPath::LoopPart& part, trust::CredentialCache& credentials,
               const config::GrpcOptions& config, const Services& services,
               net::Http2ServerOptions options)
        : loop(part.loop),
          authentication(credentials, config.open_loopback, trust::Entrance::kGrpc),
          certificates(services.certificates),
          front({.pipeline = part.pipeline,
                 .calls = part.calls,
                 .authenticate =
                     [this](std::string_view authorization, const net::GrpcCall& call) {
                         return caller_of(authorization, call);
                     },
                 .cancel = services.cancel,
                 .register_provider = services.register_provider,
                 .budgets = &services.budgets}),
          server(part.loop, front, std::move(options)) {}

    // The first credential that is present decides alone: docs/protocols/sw4rm.md, section 2.
    Result<core::PrincipalRef> caller_of(std::string_view authorization,
                                         const net::GrpcCall& call) {
        if (!authorization.empty()) return bearer(authorization, call);
        if (const std::string der = call.stream().peer_certificate_der(); !der.empty())
            return certificates.find(der);
        if (!call.peer().is_unix()) return bearer({}, call);
        // The socket's mode lets nobody else in; this holds even if somebody widens it.
        if (!net::is_own_user(call.peer()))
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
        if (proven->principal->only_reads_metrics())
            return fail(ErrorCode::kForbidden, "this token reads /metrics and nothing else");
        return std::move(proven->principal);
    }

    net::EventLoop& loop;
    const trust::RequestAuthentication authentication;
    PeerCertificates certificates;
    std::map<uid_t, core::PrincipalRef> local;   ///< by user: this one, and root
    sw4rm::Front front;
    net::Http2Server server;
};

GrpcListener::GrpcListener(const GatewayContext& context, EventLoops& loops, CallPath& calls,
                           Credentials& credentials, PeerRecords& peers, GrpcProviders& providers)
    : context_(context),
      loops_(loops),
      calls_(calls),
      credentials_(credentials),
      peers_(peers),
      providers_(providers) {}

GrpcListener::~GrpcListener() = default;

std::span<const ConfigKey> GrpcListener::keys() const {
    static constexpr ConfigKey kKeys[] = {
        restart_key("grpc", [](auto& c) -> auto& { return c.grpc; })};
    return kKeys;
}

Result<void> GrpcListener::start() {
    const config::GrpcOptions& config = context_.config.grpc;
    net::Http2ServerOptions options;
    options.max_connections = config.max_connections;
    options.count = std::make_shared<net::ConnectionCount>();
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
        certificate_ends_ = certificate_end(config.tls->cert);
    }
    if (config.address) {
        for (const auto& part : calls_.parts()) add_server(*part, options);
        const auto endpoint = net::Endpoint::tcp(config.address->host, config.address->port);
        if (auto listening = listen(endpoint, servers_); !listening) return listening;
    }
    if (!config.unix_socket.empty()) {
        options.tls = nullptr;
        add_server(*calls_.parts().front(), options);  // one loop accepts for all
        const std::span<const std::unique_ptr<LoopServer>> last(&servers_.back(), 1);
        return listen(net::Endpoint::unix_socket(config.unix_socket), last);
    }
    return {};
}

void GrpcListener::add_server(CallPath::LoopPart& part, const net::Http2ServerOptions& options) {
    const LoopServer::Services services{
        .certificates = peers_.certificates(),
        .budgets = context_.budgets,
        .cancel = [this](const core::Principal& asker,
                         std::string_view id) { return cancel(asker, id); },
        .register_provider =
            [this](std::string principal, std::string id, std::vector<sw4rm::OfferedTool> tools) {
                return providers_.directory().register_tools(std::move(principal), std::move(id),
                                                             std::move(tools));
            }};
    servers_.push_back(std::make_unique<LoopServer>(part, credentials_.cache(part.place),
                                                    context_.config.grpc, services, options));
}

/// An operator may cancel anybody's call, if the id is that of one principal only.
core::CancelAnswer GrpcListener::cancel(const core::Principal& asker, std::string_view id) {
    using Answer = core::CancelAnswer;
    if (asker.roles.has(core::Role::kOperator)) {
        std::string owner;
        for (const auto& call : calls_.running()) {
            if (call.call_id != id || call.principal == owner) continue;
            if (!owner.empty()) return Answer::kAmbiguous;
            owner = call.principal;
        }
    }
    if (calls_.cancel(asker, {}, id) > 0) return Answer::kCancelling;
    return calls_.has_finished(asker, calls_.home_tenant(asker), id) ? Answer::kFinished
                                                                     : Answer::kNotFound;
}

Result<void> GrpcListener::listen(const net::Endpoint& endpoint,
                                  std::span<const std::unique_ptr<LoopServer>> servers) {
    auto listener = context_.sockets.listen(endpoint.is_unix() ? "grpc_unix" : "grpc", endpoint);
    if (!listener) return fail(std::move(listener.error()));
    listeners_.push_back(std::move(*listener));
    for (const auto& server : servers) {
        if (auto listening = server->server.listen(*listeners_.back()); !listening)
            return fail(std::move(listening.error()));
    }
    return {};
}

void GrpcListener::drain() {
    drained_ = context_.clock.steady_now() + kDrain;
    for (const auto& server : servers_)
        server->loop.post([raw = server.get()] { raw->front.drain(); });
}

Milliseconds GrpcListener::stop_limit() const { return kDrain + kAnswers + kClose; }

void GrpcListener::stop(Deadline deadline) {
    if (servers_.empty()) return;
    calls_.wait_for_end(drained_, kFront);
    for (const auto& server : servers_)
        server->loop.post([raw = server.get()] { raw->server.cancel(); });
    calls_.wait_for_end(drained_ + kAnswers, kFront);
    loops_.finish_on_each(deadline, [this](std::size_t i, std::function<void()> done) {
        auto left = std::make_shared<std::size_t>(1);
        const auto one_less = [left, done = std::move(done)] {
            if (--*left == 0) done();
        };
        for (const auto& server : servers_) {
            if (&server->loop != &loops_.group().at(i)) continue;
            *left += 1;
            server->server.stop(one_less);
        }
        one_less();
    });
    listeners_.clear();
}

}  // namespace crab::gateway
