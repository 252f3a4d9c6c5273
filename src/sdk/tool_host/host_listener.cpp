#include "sdk/tool_host/host_listener.hpp"

#include "base/log.hpp"

namespace crab::sdk {
namespace {

constexpr std::size_t kMostConnections = 256;

void tell_end(const trust::PairingStep& end) {
    if (end.error) {
        log::warn("pairing failed",
                  {{"code", trust::token_of(end.error->code)}, {"reason", end.error->message}});
    } else {
        log::info("paired with the gateway");
    }
}

}  // namespace

Result<void> HostListener::start() {
    const HostEngine::Options& options = uses_.options;
    auto bound = net::Listener::bind(options.paired ? options.paired->endpoint
                                                    : net::Endpoint::unix_socket(options.socket));
    if (!bound) return fail(std::move(bound.error()));
    listener_ = std::move(*bound);
    endpoint_ = listener_->endpoint();
    if (auto admitted = admit_callers(); !admitted) return admitted;
    service_ = std::make_unique<HostService>(*callers_);
    net::HttpServerOptions server_options;
    server_options.max_connections = kMostConnections;
    server_options.max_at_work_of_one = kMostConnections;  // there is one caller only
    server_options.proven_at_open = true;
    if (trust_) server_options.tls = trust_->tls();
    server_ = std::make_unique<net::HttpServer>(uses_.loops.first(), *service_,
                                                std::move(server_options));
    return server_->listen(*listener_);
}

/// Who may call through the listener that is bound.
Result<void> HostListener::admit_callers() {
    if (uses_.options.paired) return admit_gateway(*uses_.options.paired);
    callers_ = std::make_unique<LocalCallers>();
    return {};
}

Result<void> HostListener::admit_gateway(const HostEngine::Paired& paired) {
    auto opened = RemoteTrust::open({.folder = uses_.options.state_dir / "pairing",
                                     .component_id = paired.component_id,
                                     .gateway_key = paired.gateway_key,
                                     .endpoint = paired.endpoint,
                                     .operator_made = paired.operator_made},
                                    uses_.clock);
    if (!opened) return fail(std::move(opened.error()));
    trust_ = std::move(*opened);
    if (uses_.options.on_trust) uses_.options.on_trust(*trust_);
    pairing_ = std::make_unique<rtp::PairingRemote>(
        uses_.loops.first(), uses_.workers.pool(),
        rtp::PairingRemote::Options{.path = paired.pair_path,
                                    .identity = [this] { return trust_->identity(); },
                                    .on_end = tell_end});
    callers_ = std::make_unique<PairedCallers>(*trust_, *pairing_, uses_.workers.pool());
    return {};
}

std::vector<runtime::ListenerRoutes> HostListener::tables() {
    return {{.kind = runtime::ListenerKind::kHost,
             .loop = 0,
             .routes = service_->routes(),
             .metrics = service_->metrics()}};
}

void HostListener::drain() {
    uses_.loops.first().post([this] {
        service_->stop();
        server_->stop_accepting();
    });
}

void HostListener::stop(Deadline deadline) {
    net::EventLoop& loop = uses_.loops.first();
    const auto finish = [&](auto begin) { uses_.loops.finish(loop, deadline, std::move(begin)); };
    finish([this](std::function<void()> done) { server_->drain(kDrain, std::move(done)); });
    if (pairing_) finish([this](std::function<void()> done) { pairing_->stop(std::move(done)); });
    finish([this](std::function<void()> done) { server_->stop(std::move(done)); });
    listener_.reset();
}

}  // namespace crab::sdk
