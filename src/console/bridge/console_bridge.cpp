#include "console/bridge/console_bridge.hpp"

#include "net/loop/finish_on.hpp"

#include <future>
#include <utility>

namespace crab::console {
namespace {

ConsoleAccess::Options access_options(const net::Endpoint& endpoint,
                                      const ConsoleBridge::Options& options) {
    return {.authority = endpoint.text(),
            .principal = options.principal,
            .version = options.version,
            .read_only = options.read_only,
            .sessions = {.idle = options.idle}};
}

net::HttpAuthority gateway_at(const net::SocketAddress& address, const net::Endpoint& endpoint) {
    // The name under which the browser knows it, for the policy that the page's files come with.
    return {.server = {.addresses = {address}}, .host = endpoint.text()};
}

}  // namespace

Result<std::unique_ptr<ConsoleBridge>> ConsoleBridge::start(Options options) {
    const auto gateway = net::to_socket_address(net::Endpoint::unix_socket(options.admin_socket));
    if (!gateway) return fail(gateway.error());
    auto listener = net::Listener::bind(net::Endpoint::tcp("127.0.0.1", options.port));
    if (!listener) return fail(std::move(listener.error()));
    std::unique_ptr<ConsoleBridge> bridge(
        new ConsoleBridge(std::move(*listener), std::move(options), *gateway));
    if (auto listening = bridge->server_->listen(*bridge->listener_); !listening)
        return fail(std::move(listening.error()));
    bridge->service_.begin();
    bridge->thread_.emplace(bridge->loop_);
    return bridge;
}

ConsoleBridge::ConsoleBridge(std::unique_ptr<net::Listener> listener, Options options,
                             const net::SocketAddress& gateway)
    : listener_(std::move(listener)),
      gateway_(loop_, gateway_at(gateway, listener_->endpoint())),
      records_(loop_, gateway_),
      access_(clock_, random_, records_, access_options(listener_->endpoint(), options)),
      relay_({.loop = loop_, .gateway = gateway_, .address = gateway}),
      service_({.loop = loop_, .access = access_, .records = records_, .gateway = relay_},
               options.read_only),
      server_(std::make_unique<net::HttpServer>(loop_, service_,
                                                net::HttpServerOptions{.max_connections = 256})) {}

ConsoleBridge::~ConsoleBridge() {
    if (!thread_) return;
    const auto begin = [this](const std::function<void()>& next) { service_.stop_sessions(next); };
    net::finish_on(loop_, begin);
    net::finish_on(loop_, [this](std::function<void()> done) { server_->stop(std::move(done)); });
    net::finish_on(loop_, [this](std::function<void()> done) {
        gateway_.close();
        service_.stop_tasks(std::move(done));
    });
    net::finish_on(loop_, [this](std::function<void()> done) { relay_.stop(std::move(done)); });
    thread_.reset();
}

Secret<std::string> ConsoleBridge::open_link() {
    std::promise<Secret<std::string>> opened;
    loop_.post([&] { opened.set_value(access_.open_link()); });
    return opened.get_future().get();
}

}  // namespace crab::console
