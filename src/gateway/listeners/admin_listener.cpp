#include "gateway/listeners/admin_listener.hpp"

#include "gateway/context/inherited_sockets.hpp"
#include "gateway/listeners/console_page.hpp"

namespace crab::gateway {

std::span<const ConfigKey> AdminListener::keys() const {
    static constexpr ConfigKey kKeys[] = {
        restart_key("listen.admin", [](auto& c) -> auto& { return c.listen.admin_socket; })};
    return kKeys;
}

Result<void> AdminListener::start() {
    auto listener =
        context_.sockets.listen("admin", net::Endpoint::unix_socket(context_.paths.admin_socket));
    if (!listener) return fail(std::move(listener.error()));
    listener_ = std::move(*listener);
    service_.record_changes_in(audit_.log());
    service_.serve_sessions_of(console_.kept());
    server_ = std::make_unique<net::HttpServer>(loops_.first(), service_);
    return server_->listen(*listener_);
}

std::vector<ListenerRoutes> AdminListener::tables() {
    return {{.kind = ListenerKind::kAdmin,
             .loop = 0,
             .routes = service_.routes(),
             .metrics = service_.metrics()}};
}

void AdminListener::add_routes(const ListenerRoutes& table) {
    if (table.kind == ListenerKind::kAdmin) add_console_page(table.routes);
}

void AdminListener::drain() {
    loops_.first().post([this] {
        service_.stop();
        server_->stop_accepting();
    });
}

void AdminListener::stop(Deadline deadline) {
    loops_.finish(loops_.first(), deadline,
                  [this](std::function<void()> done) { server_->stop(std::move(done)); });
    listener_.reset();
}

}  // namespace crab::gateway
