#include "gateway/mcp/mcp_front.hpp"

#include "base/encoding.hpp"
#include "base/version.hpp"
#include "crypto/key_folder.hpp"
#include "runtime/event_loops.hpp"
#include "store/stores.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace crab::gateway {

namespace {

mcp::Prefix prefix_of(config::McpPrefix prefix) {
    switch (prefix) {
        case config::McpPrefix::kAuto: break;
        case config::McpPrefix::kAlways: return mcp::Prefix::kAlways;
        case config::McpPrefix::kNever: return mcp::Prefix::kNever;
    }
    return mcp::Prefix::kAuto;
}

std::vector<Glob> scope_globs(const std::vector<std::string>& patterns) {
    return {patterns.begin(), patterns.end()};
}

void set_budget(mcp::Scope& scope, const config::McpBudgetOptions& budget,
                const std::vector<std::string>& pinned) {
    scope.most_tools = budget.tools;
    scope.most_tokens = budget.tokens;
    scope.pinned = scope_globs(pinned);
}

mcp::Scope whole_of(const config::McpOptions& mcp) {
    mcp::Scope scope;
    scope.instructions = mcp.instructions;
    scope.prefix = prefix_of(mcp.names.prefix);
    scope.names.max = mcp.names.max;
    if (mcp.names.dots_to_underscores) scope.names.dots = mcp::Dots::kUnderscore;
    set_budget(scope, mcp.budget, mcp.pinned);
    return scope;
}

mcp::Scope scope_of(const std::string& name, const config::McpScopeOptions& chosen,
                    const config::McpOptions& mcp) {
    mcp::Scope scope = whole_of(mcp);
    scope.name = name;
    scope.tools = core::ToolScope(scope_globs(chosen.tools_allow), scope_globs(chosen.tools_deny));
    if (!chosen.instructions.empty()) scope.instructions = chosen.instructions;
    if (chosen.prefix) scope.prefix = prefix_of(*chosen.prefix);
    scope.renamed = chosen.rename;
    set_budget(scope, chosen.budget, chosen.pinned);
    return scope;
}

mcp::ServerOptions options_of(const config::McpOptions& mcp) {
    std::vector<mcp::Revision> versions;
    for (const std::string& name : mcp.versions) {
        if (const auto revision = mcp::find_revision(name)) versions.push_back(*revision);
    }
    mcp::ServerOptions options;
    if (!versions.empty()) options.versions = mcp::RevisionSet(versions);
    options.version = version();
    options.whole = whole_of(mcp);
    for (const auto& [name, scope] : mcp.scopes)
        options.scopes.push_back(scope_of(name, scope, mcp));
    options.max_request = mcp.max_request;
    options.stream_after = mcp.stream_after;
    options.keepalive = mcp.keepalive;
    options.poll_after = mcp.poll_after;
    options.legacy_sse = mcp.legacy_sse;
    options.input_wait = mcp.input_wait;
    options.list_ttl = mcp.list_ttl;
    options.page = mcp.page;
    options.listens_per_principal = mcp.streams_per_principal;
    options.task_after = mcp.task_after;
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
    static constexpr ConfigKey kKeys[] = {
        restart_key("approvals.in_mcp", [](auto& c) -> auto& { return c.approvals.in_mcp; }),
        restart_key("mcp.enabled", [](auto& c) -> auto& { return c.mcp.enabled; }),
        restart_key("mcp.versions", [](auto& c) -> auto& { return c.mcp.versions; }),
        restart_key("mcp.instructions", [](auto& c) -> auto& { return c.mcp.instructions; }),
        restart_key("mcp.names", [](auto& c) -> auto& { return c.mcp.names; }),
        restart_key("mcp.budget", [](auto& c) -> auto& { return c.mcp.budget; }),
        restart_key("mcp.pinned", [](auto& c) -> auto& { return c.mcp.pinned; }),
        restart_key("mcp.scopes", [](auto& c) -> auto& { return c.mcp.scopes; }),
        restart_key("mcp.page", [](auto& c) -> auto& { return c.mcp.page; }),
        restart_key("mcp.max_request", [](auto& c) -> auto& { return c.mcp.max_request; }),
        restart_key("mcp.sessions_per_principal",
                    [](auto& c) -> auto& { return c.mcp.sessions_per_principal; }),
        restart_key("mcp.streams_per_principal",
                    [](auto& c) -> auto& { return c.mcp.streams_per_principal; }),
        restart_key("mcp.stream_after", [](auto& c) -> auto& { return c.mcp.stream_after; }),
        restart_key("mcp.keepalive", [](auto& c) -> auto& { return c.mcp.keepalive; }),
        restart_key("mcp.poll_after", [](auto& c) -> auto& { return c.mcp.poll_after; }),
        restart_key("mcp.legacy_sse", [](auto& c) -> auto& { return c.mcp.legacy_sse; }),
        restart_key("mcp.input_wait", [](auto& c) -> auto& { return c.mcp.input_wait; }),
        restart_key("mcp.list_ttl", [](auto& c) -> auto& { return c.mcp.list_ttl; }),
        restart_key("mcp.session_idle", [](auto& c) -> auto& { return c.mcp.session_idle; }),
        restart_key("mcp.task_after", [](auto& c) -> auto& { return c.mcp.task_after; })};
    return kKeys;
}

Result<void> McpFront::start() {
    const std::filesystem::path& folder = uses_.context.paths.state_dir;
    auto key = sealing_key(folder, random_);
    if (!key) return fail(std::move(key.error()));
    auto tasks = uses_.context.stores->open_call_tasks();
    if (!tasks) return fail(std::move(tasks.error()));
    tasks_ = std::move(*tasks);
    pool_ = std::make_unique<BlockingPool>(1);
    const mcp::TaskTable::Uses for_tasks{
        .store = *tasks_,
        .pool = *pool_,
        .clock = uses_.context.clock,
        .random = random_,
        .timers_here = []() -> TimerWheel& { return net::EventLoop::current()->timers(); }};
    mcp::ServerOptions options = options_of(uses_.context.config.mcp);
    if (uses_.context.config.approvals.in_mcp == config::ChatApprover::kOwner)
        options.owners_approve = &uses_.approvals.approvals();
    state_.emplace(std::move(options), for_tasks, std::move(*key));
    for (const auto& part : uses_.calls.parts()) {
        const mcp::Endpoint::Uses uses{
            .loop = part->loop,
            .pipeline = part->pipeline,
            .calls = part->calls,
            .registry = uses_.context.registry,
            .catalogs = uses_.shared.catalogs,
            .watches = uses_.shared.watches,
            .state = *state_,
            .artifacts = {&uses_.artifacts.store(), &uses_.artifacts.reads()},
            .away = uses_.calls.away(),
            .search = {&index_, &searches_}};
        endpoints_.push_back(std::make_unique<mcp::Endpoints>(uses));
        loops_.push_back(&part->loop);
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
    searches_.settle();
    pool_->settle();
}

}  // namespace crab::gateway
