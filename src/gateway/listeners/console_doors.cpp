#include "gateway/listeners/console_doors.hpp"

#include "base/version.hpp"
#include "gateway/listeners/console_page.hpp"
#include "json/writer.hpp"
#include "store/stores.hpp"

#include <fmt/format.h>

namespace crab::gateway {
namespace {

constexpr std::chrono::seconds kLookEvery{1};
constexpr int kLooksBetweenFlushes = 60;
constexpr double kBurst = 300;  ///< of audit events; there are 256 sessions at most

console::DoorMode mode_of(const config::GatewayConfig& config) {
    switch (config.listen.console) {
        case config::ConsoleAccess::kOff: return console::DoorMode::kOff;
        case config::ConsoleAccess::kOperators: return console::DoorMode::kOperators;
        case config::ConsoleAccess::kPeople: return console::DoorMode::kPeople;
    }
    return console::DoorMode::kOff;
}

/// All ports of a host share its cookies, other gateways' too.
std::string cookie_name(const config::ListenOptions& listen) {
    return fmt::format("{}crab-console-{}", listen.tls ? "__Secure-" : "",
                       listen.public_address ? listen.public_address->port : 0);
}

}  // namespace

std::span<const ConfigKey> ConsoleDoors::keys() const {
    static constexpr ConfigKey kKeys[] = {
        reload_key("listen.console", [](auto& c) -> auto& { return c.listen.console; })};
    return kKeys;
}

Result<void> ConsoleDoors::start() {
    auto store = uses_.context.stores->open_console_sessions();
    if (!store) return fail(std::move(store.error()));
    const auto admin = net::to_socket_address(
        net::Endpoint::unix_socket(uses_.context.paths.admin_socket.string()));
    if (!admin) return fail(admin.error());
    kept_ = std::make_unique<console::KeptSessions>(console::KeptSessions::Uses{
        .clock = uses_.context.clock,
        .random = random_,
        .tokens = uses_.credentials.tokens(),
        .store = std::move(*store),
        .pool = uses_.workers.pool(),
        .record = [this](const console::KeptSessions::Change& change) { return record(change); },
        .ended = [this] { end_what_is_over(); }});
    if (auto loaded = kept_->load(); !loaded) return loaded;
    if (auto opened = open_passkeys(); !opened) return opened;
    kept_->set_mode(mode_of(uses_.context.config));
    for (net::EventLoop* const loop : uses_.loops.all()) add_door(doors_.size(), *loop, *admin);
    return {};
}

Result<void> ConsoleDoors::open_passkeys() {
    auto store = uses_.context.stores->open_passkeys();
    if (!store) return fail(std::move(store.error()));
    passkeys_ = std::make_unique<console::Passkeys>(console::Passkeys::Uses{
        .clock = uses_.context.clock,
        .tokens = uses_.credentials.tokens(),
        .store = std::move(*store),
        .pool = uses_.workers.pool(),
        .record = [this](std::string_view kind, const console::ConsoleSession& session) {
            return record({.kind = kind,
                           .principal = session.principal,
                           .session = session.number,
                           .why = {}});
        }});
    return passkeys_->load();
}

void ConsoleDoors::add_door(std::size_t i, net::EventLoop& loop, const net::SocketAddress& admin) {
    const config::ListenOptions& listen = uses_.context.config.listen;
    doors_.push_back(std::make_unique<console::ConsoleDoor>(
        console::ConsoleDoor::Uses{
            .loop = loop,
            .kept = *kept_,
            .keys = uses_.credentials.keys_of_devices(),
            .pool = uses_.workers.pool(),
            .passkeys = *passkeys_,
            .gateway = admin,
            .gateway_routes = *admin_routes_,
            .serve_file = [](net::HttpExchange& exchange,
                             std::string_view file) { serve_console_file(exchange, file); },
            .refused_host =
                [&front = uses_.devices.front(i)](const net::HttpRequest& request) {
                    return front.refused_host(request);
                },
            .is_named_origin =
                [&front = uses_.devices.front(i)](std::string_view origin) {
                    return front.is_named_origin(origin);
                }},
        console::SessionAccess::Options{.root = listen.path_prefix + "/console/",
                                        .cookie = cookie_name(listen),
                                        .tls = listen.tls.has_value(),
                                        .version = std::string(version()),
                                        .way_in = "sign in with a passkey, a key or a token "
                                                  "(`crab tokens create --role operator`)"}));
}

void ConsoleDoors::begin() {
    looks_.resize(doors_.size());
    for (std::size_t i = 0; i < doors_.size(); ++i) {
        net::EventLoop& loop = *uses_.loops.all()[i];
        loop.post([this, i, &loop] {
            looks_[i] = std::make_unique<net::Periodic>(loop, kLookEvery, [this, i] { look(i); });
        });
    }
}

void ConsoleDoors::look(std::size_t i) {
    doors_[i]->end_what_is_over();
    if (i != 0) return;
    kept_->look();
    if (looks_until_flush_-- > 0) return;
    looks_until_flush_ = kLooksBetweenFlushes;
    uses_.workers.pool().post([this] { kept_->flush(); });
}

Result<Component::Change> ConsoleDoors::prepare(const config::GatewayConfig& next) {
    return [this, mode = mode_of(next)] { kept_->set_mode(mode); };
}

void ConsoleDoors::end_what_is_over() {
    for (std::size_t i = 0; i < doors_.size(); ++i)
        uses_.loops.all()[i]->post([door = doors_[i].get()] { door->end_what_is_over(); });
}

bool ConsoleDoors::record(const console::KeptSessions::Change& change) {
    return uses_.audit.log().append_event(
        {.kind = change.kind, .by = change.principal, .burst = kBurst}, [&](json::Writer& writer) {
            if (!change.principal.empty()) writer.key("principal").string_lossy(change.principal);
            writer.key("front").string("console").key("door").string("public");
            writer.key("session").integer(static_cast<std::int64_t>(change.session));
            if (!change.why.empty()) writer.key("why").string(change.why);
        });
}

void ConsoleDoors::add_routes(const ListenerRoutes& table) {
    if (table.kind == ListenerKind::kPublic) doors_[table.loop]->add_routes(table.routes);
}

void ConsoleDoors::stop(Deadline deadline) {
    uses_.loops.finish_on_each(deadline, [this](std::size_t i, std::function<void()> done) {
        if (i < looks_.size()) looks_[i].reset();
        doors_[i]->stop(std::move(done));
    });
    kept_->look();
    kept_->flush();
}

}  // namespace crab::gateway
