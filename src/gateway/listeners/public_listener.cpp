#include "gateway/listeners/public_listener.hpp"

#include "base/log.hpp"
#include "gateway/context/inherited_sockets.hpp"
#include "gateway/listeners/certificate_file.hpp"
#include "gateway/listeners/device_page.hpp"

#include <sys/resource.h>

namespace crab::gateway {
namespace {

/// As many connections as were wanted, if that leaves a quarter of the descriptors for files, hosts
/// and models.
std::size_t connections_that_fit(std::size_t wanted) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
    return std::min<std::size_t>(wanted, limit.rlim_cur - limit.rlim_cur / 4);
}

}  // namespace

std::span<const ConfigKey> PublicListener::keys() const {
    static constexpr ConfigKey kKeys[] = {
        restart_key("listen.public", [](auto& c) -> auto& { return c.listen.public_address; }),
        restart_key("listen.path_prefix", [](auto& c) -> auto& { return c.listen.path_prefix; }),
        restart_key("listen.tls", [](auto& c) -> auto& { return c.listen.tls; }),
        restart_key("listen.open_loopback",
                    [](auto& c) -> auto& { return c.listen.open_loopback; }),
        restart_key("listen.device_page", [](auto& c) -> auto& { return c.listen.device_page; }),
        restart_key("listen.max_connections",
                    [](auto& c) -> auto& { return c.listen.max_connections; }),
        restart_key("limits.request_body_bytes",
                    [](auto& c) -> auto& { return c.limits.request_body_bytes; }),
        restart_key("limits.outgoing_queue_bytes",
                    [](auto& c) -> auto& { return c.limits.outgoing_queue_bytes; }),
        restart_key("limits.slow_reader_s", [](auto& c) -> auto& { return c.limits.slow_reader; })};
    return kKeys;
}

Result<void> PublicListener::start() {
    auto options = server_options();
    if (!options) return fail(std::move(options.error()));
    for (net::EventLoop* loop : uses_.loops.all()) add_server(servers_.size(), *loop, *options);
    return uses_.context.config.listen.public_address ? listen() : Result<void>();
}

Result<net::HttpServerOptions> PublicListener::server_options() {
    const config::GatewayConfig& config = uses_.context.config;
    net::HttpServerOptions options;
    if (config.listen.tls) {
        net::TlsContext::Options tls;
        tls.certificate.file = config.listen.tls->cert;
        tls.key.file = config.listen.tls->key;
        auto made = net::TlsContext::make(std::move(tls));
        if (!made) return fail(std::move(made.error()));
        tls_ = std::move(*made);
        read_certificate_end();
    }
    options.max_connections = connections_that_fit(config.listen.max_connections);
    options.count = std::make_shared<net::ConnectionCount>();
    options.tls = tls_;
    options.connection.max_queued_bytes = config.limits.outgoing_queue_bytes;
    options.connection.stall = std::chrono::duration_cast<Milliseconds>(config.limits.slow_reader);
    return options;
}

void PublicListener::add_server(std::size_t i, net::EventLoop& loop,
                                const net::HttpServerOptions& options) {
    const config::GatewayConfig& config = uses_.context.config;
    LoopServer& made = servers_.emplace_back(LoopServer{loop, {}, {}});
    made.service = std::make_unique<PublicService>(
        uses_.devices.front(i), uses_.credentials.cache(i), uses_.context.metrics, config.listen,
        config.limits.request_body_bytes, uses_.context.budgets);
    if (trust::AccessTokens* const tokens = uses_.oauth.tokens(i))
        made.service->take_tokens_of(*tokens);
    made.service->take_console(uses_.console.door(i));
    made.server = std::make_unique<net::HttpServer>(loop, *made.service, options);
}

std::vector<ListenerRoutes> PublicListener::tables() {
    std::vector<ListenerRoutes> tables;
    for (const LoopServer& each : servers_)
        tables.push_back({.kind = ListenerKind::kPublic,
                          .loop = tables.size(),
                          .routes = each.service->routes(),
                          .metrics = each.service->metrics()});
    return tables;
}

void PublicListener::add_routes(const ListenerRoutes& table) {
    if (table.kind == ListenerKind::kPublic && uses_.context.config.listen.device_page)
        add_device_page(table.routes);
}

Result<void> PublicListener::listen() {
    const config::HostPort& address = *uses_.context.config.listen.public_address;
    auto listener =
        uses_.context.sockets.listen("public", net::Endpoint::tcp(address.host, address.port));
    if (!listener) return fail(std::move(listener.error()));
    listener_ = std::move(*listener);
    uses_.devices.facts().port = listener_->endpoint().port;
    for (const LoopServer& each : servers_) {
        if (auto listening = each.server->listen(*listener_); !listening) return listening;
    }
    return {};
}

Result<Component::Change> PublicListener::prepare(const config::GatewayConfig&) {
    return [this] {
        if (!tls_) return;
        if (const auto fresh = tls_->reload(); !fresh)
            log::error("the old certificate stays", {{"reason", fresh.error().message}});
        else
            read_certificate_end();
    };
}

void PublicListener::read_certificate_end() {
    certificate_ends_ =
        certificate_end(uses_.context.config.listen.tls->cert).value_or(SystemTime{});
}

void PublicListener::drain() {
    for (const LoopServer& each : servers_) {
        each.loop.post([service = each.service.get(), server = each.server.get()] {
            service->stop();
            server->stop_accepting();
        });
    }
}

void PublicListener::stop(Deadline deadline) {
    uses_.loops.finish_on_each(deadline, [this](std::size_t i, std::function<void()> done) {
        servers_[i].server->stop(std::move(done));
    });
    listener_.reset();
}

}  // namespace crab::gateway
