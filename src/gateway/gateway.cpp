#include "gateway/gateway.hpp"

#include "base/log.hpp"
#include "base/ordered_mutex.hpp"
#include "base/version.hpp"
#include "gateway/gateway_components.hpp"
#include "gateway/operator/config_changes.hpp"
#include "runtime/lifecycle.hpp"

#include <sys/resource.h>
#include <unistd.h>

namespace crab::gateway {
namespace {

/// Ten thousand connections need more descriptors than the usual soft limit gives.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

/// The components, and what is done with all of them.
struct Gateway::Running {
    Running(config::GatewayConfig config, GatewayPaths paths, ReadConfig read,
            InheritedSockets sockets)
        : read_config(std::move(read)),
          last_read(config),
          components(
              std::move(config), std::move(paths), [this] { return reload(); }, read_config,
              [this] { return loaded(); }, std::move(sockets)),
          lifecycle(components.clock, components.all.in_order()) {}

    Result<void> reload();
    LoadedConfig loaded();
    Result<void> read_and_apply();

    const ReadConfig read_config;
    OrderedMutex<LockRank::kReload> reloading;
    config::GatewayConfig last_read;  ///< by the latest reload
    SystemTime last_read_at = std::chrono::system_clock::now();
    GatewayComponents components;
    runtime::Lifecycle lifecycle;  ///< last: it stops them
};

/// On a thread that may take its time: everything is compiled here.
Result<void> Gateway::Running::reload() {
    const std::scoped_lock one_at_a_time(reloading);
    auto done = read_and_apply();
    ReloadOutcome& outcome = components.last_reload;
    outcome.successful = done.has_value();
    const SystemTime now = components.clock.system_now();
    if (done) outcome.at = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
    return done;
}

Result<void> Gateway::Running::read_and_apply() {
    auto read = read_config();
    if (!read) return fail(std::move(read.error()));
    const std::vector<ConfigKey> keys = components.all.keys();
    auto applied = reload_components(lifecycle, keys, components.config, *read);
    if (!applied) return applied;
    // Against what was read last: a change is told once, one that waits for a start until it is
    // taken back.
    log_reload(read->source, config_changes(keys, last_read, *read).now,
               config_changes(keys, components.config, *read).at_next_start);
    last_read = std::move(*read);
    last_read_at = components.clock.system_now();
    return {};
}

LoadedConfig Gateway::Running::loaded() {
    const std::scoped_lock not_meanwhile(reloading);
    return {.config = last_read, .at = last_read_at};
}

Gateway::Gateway(std::unique_ptr<Running> running) : running_(std::move(running)) {}

Gateway::~Gateway() = default;

Result<std::unique_ptr<Gateway>> Gateway::start(config::GatewayConfig config, GatewayPaths paths,
                                                ReadConfig read_config, InheritedSockets sockets) {
    raise_descriptor_limit();
    auto running = std::make_unique<Running>(std::move(config), std::move(paths),
                                             std::move(read_config), std::move(sockets));
    if (auto started = running->lifecycle.start(); !started) {
        log::error("a component did not start", {{"component", running->lifecycle.failed()},
                                                 {"reason", started.error().message}});
        return fail(std::move(started.error()));
    }
    GatewayComponents& made = running->components;
    for (const std::string& socket : made.sockets.close_rest())
        log::warn("no listener has the address of a socket that was passed", {{"socket", socket}});
    running->lifecycle.begin(made.metrics);
    const std::filesystem::path& source = made.config.source;
    log::info("started", {{"version", version()},
                          {"config", source.empty() ? "none (defaults)" : source.string()},
                          {"state_dir", made.paths.state_dir.string()},
                          {"admin", made.paths.admin_socket.string()},
                          {"pid", ::getpid()}});
    return std::unique_ptr<Gateway>(new Gateway(std::move(running)));
}

std::vector<ConfigKey> Gateway::config_keys() {
    return GatewayComponents({}, {}, {}, {}, {}).all.keys();
}
std::string Gateway::public_endpoint() const {
    return running_->components.public_listener.endpoint();
}
std::string Gateway::grpc_endpoint() const { return running_->components.grpc.endpoint(); }
std::string Gateway::peer_endpoint() const { return running_->components.peers.endpoint(); }
std::string Gateway::admin_socket() const { return running_->components.paths.admin_socket; }
Gateway::ApiDocuments Gateway::api_documents() const {
    const GatewayComponents& components = running_->components;
    return {.public_listener = components.public_listener.api_document(),
            .admin = components.admin.api_document(),
            .peers = components.peers.api_document()};
}
Result<void> Gateway::reload() { return running_->reload(); }
void Gateway::stop() { running_->lifecycle.stop(); }

}  // namespace crab::gateway
