#include "gateway/mcp_front.hpp"

#include "base/encoding.hpp"
#include "crypto/key_folder.hpp"
#include "runtime/event_loops.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace crab::gateway {

namespace {

mcp::ServerOptions options_of(const config::McpOptions& mcp) {
    std::vector<mcp::Revision> versions;
    for (const std::string& name : mcp.versions) {
        if (const auto revision = mcp::find_revision(name)) versions.push_back(*revision);
    }
    mcp::ServerOptions options;
    if (!versions.empty()) options.versions = mcp::RevisionSet(versions);
    options.version = CRAB_VERSION;
    options.instructions = mcp.instructions;
    options.max_request = mcp.max_request;
    options.stream_after = mcp.stream_after;
    options.keepalive = mcp.keepalive;
    options.list_ttl = mcp.list_ttl;
    options.page = mcp.page;
    options.listens_per_principal = mcp.streams_per_principal;
    options.names.max = mcp.names.max;
    if (mcp.names.dots_to_underscores) options.names.dots = mcp::Dots::kUnderscore;
    options.task_after = mcp.task_after;
    options.input_wait = mcp.input_wait;
    options.sessions = {.idle = mcp.session_idle, .per_principal = mcp.sessions_per_principal};
    return options;
}

/// The key that seals cursors and states of requests. It stays, so that a client that comes again
/// after a restart is told what is known of its call, and not that it has never been asked.
Result<crypto::AesKey> sealing_key(const std::filesystem::path& path,
                                   crypto::RandomSource& random) {
    constexpr std::string_view kFile = "mcp_sealing.key";
    const auto folder = crypto::KeyFolder::open(path);
    if (!folder) return fail(folder.error());
    auto kept = folder->read(kFile, crypto::KeyFolder::Access::kPrivate);
    if (!kept) return fail(std::move(kept.error()));
    std::array<std::uint8_t, 32> bytes = random.bytes<32>();
    if (!*kept) {
        const auto written =
            folder->write(kFile, to_hex(bytes), crypto::KeyFolder::Access::kPrivate);
        if (!written) return fail(written.error());
        return crypto::AesKey(bytes);
    }
    const auto read = from_hex(**kept);
    if (!read || read->size() != bytes.size())
        return fail(ErrorCode::kInvalidArgs,
                    "mcp_sealing.key cannot be used; remove it to have a new one made");
    std::ranges::copy(*read, bytes.begin());
    return crypto::AesKey(bytes);
}

}  // namespace

/// All but the servers, which the other half has.
std::span<const ConfigKey> McpFront::keys() const {
    using Config = const config::GatewayConfig&;
    static constexpr ConfigKey kKeys[] = {
        restart_key("mcp.enabled", [](Config c) { return c.mcp.enabled; }),
        restart_key("mcp.versions", [](Config c) { return c.mcp.versions; }),
        restart_key("mcp.instructions", [](Config c) { return c.mcp.instructions; }),
        restart_key("mcp.names", [](Config c) { return c.mcp.names; }),
        restart_key("mcp.page", [](Config c) { return c.mcp.page; }),
        restart_key("mcp.max_request", [](Config c) { return c.mcp.max_request; }),
        restart_key("mcp.sessions_per_principal",
                    [](Config c) { return c.mcp.sessions_per_principal; }),
        restart_key("mcp.streams_per_principal",
                    [](Config c) { return c.mcp.streams_per_principal; }),
        restart_key("mcp.stream_after", [](Config c) { return c.mcp.stream_after; }),
        restart_key("mcp.keepalive", [](Config c) { return c.mcp.keepalive; }),
        restart_key("mcp.list_ttl", [](Config c) { return c.mcp.list_ttl; }),
        restart_key("mcp.session_idle", [](Config c) { return c.mcp.session_idle; }),
        restart_key("mcp.task_after", [](Config c) { return c.mcp.task_after; }),
        restart_key("mcp.input_wait", [](Config c) { return c.mcp.input_wait; })};
    return kKeys;
}

Result<void> McpFront::start() {
    const std::filesystem::path& folder = uses_.context.paths.state_dir;
    auto key = sealing_key(folder, random_);
    if (!key) return fail(std::move(key.error()));
    auto tasks = store::sqlite::CallTaskStoreSqlite::open(folder / "tasks.db");
    if (!tasks) return fail(std::move(tasks.error()));
    tasks_ = std::move(*tasks);
    pool_ = std::make_unique<BlockingPool>(1);
    const mcp::TaskBook::Uses book{
        .store = *tasks_, .pool = *pool_, .clock = uses_.context.clock, .random = random_};
    state_.emplace(options_of(uses_.context.config.mcp), book, std::move(*key));
    for (const auto& lane : uses_.calls.lanes()) {
        const mcp::Endpoint::Uses uses{
            .loop = lane->loop,
            .pipeline = lane->pipeline,
            .registry = uses_.context.registry,
            .catalogs = uses_.shared.catalogs,
            .watches = uses_.shared.watches,
            .state = *state_,
            .artifacts = {&uses_.artifacts.store(), &uses_.artifacts.pool()},
            .away = uses_.calls.away()};
        endpoints_.push_back(std::make_unique<mcp::Endpoint>(uses));
        loops_.push_back(&lane->loop);
    }
    uses_.credentials.tokens().on_revoked(
        [this](const std::string& credential) { end_credential(credential); });
    return {};
}

void McpFront::end_credential(const std::string& credential) {
    state_->sessions.end_credential(credential);
    state_->parked.end_credential(credential);
    state_->tasks.end_credential(credential);
    for (std::size_t i = 0; i < endpoints_.size(); ++i)
        loops_[i]->post(
            [endpoint = endpoints_[i].get(), credential] { endpoint->end_credential(credential); });
}

void McpFront::add_routes(const ListenerRoutes& table) {
    if (!uses_.context.config.mcp.enabled) return;
    // The admin socket is where `crab mcp stdio` comes in.
    if (table.kind == ListenerKind::kPublic) endpoints_[table.loop]->add_routes(table.routes);
    if (table.kind == ListenerKind::kAdmin)
        endpoints_[table.loop]->add_routes(table.routes, mcp::Carrier::kStdio);
}

void McpFront::drain() {
    state_->tasks.stop();
    state_->parked.give_up();
    for (std::size_t i = 0; i < endpoints_.size(); ++i)
        loops_[i]->post([endpoint = endpoints_[i].get()] { endpoint->stop(); });
}

void McpFront::stop(Deadline deadline) {
    uses_.loops.finish_on_each(deadline, [this](std::size_t i, std::function<void()> done) {
        endpoints_[i]->end(std::move(done));
    });
    pool_->settle();
}

}  // namespace crab::gateway
