#include "gateway/mcp_servers.hpp"

#include "base/log.hpp"
#include "core/audit/metrics.hpp"
#include "json/writer.hpp"
#include "net/tls/tls_context.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

std::string client_info() {
    std::string info;
    json::Writer(info)
        .begin_object()
        .key("name")
        .string("crab")
        .key("version")
        .string(CRAB_VERSION)
        .end_object();
    return info;
}

/// What a server's program sees of the gateway's environment, and what its own configuration says.
std::vector<std::string> environment_of(const config::McpServerOptions& server) {
    constexpr std::array kPassed{"PATH", "HOME", "LANG", "TZ", "TMPDIR"};
    std::vector<std::string> environment;
    for (const char* name : kPassed) {
        const char* value = std::getenv(name);
        if (value != nullptr && !server.env.contains(std::string_view(name)))
            environment.push_back(fmt::format("{}={}", name, value));
    }
    for (const auto& [name, value] : server.env)
        environment.push_back(fmt::format("{}={}", name, value.text.reveal()));
    return environment;
}

mcp::UpstreamOptions::EraChoice era_of(config::McpEra era) {
    using Choice = mcp::UpstreamOptions::EraChoice;
    switch (era) {
        case config::McpEra::kProbe: return Choice::kProbe;
        case config::McpEra::kModern: return Choice::kModern;
        case config::McpEra::kLegacy: return Choice::kLegacy;
        case config::McpEra::kSse: return Choice::kSse;
    }
    return Choice::kProbe;
}

mcp::PinMode pin_of(config::McpPin pin) {
    switch (pin) {
        case config::McpPin::kTrustFirst: return mcp::PinMode::kTrustFirst;
        case config::McpPin::kAsk: return mcp::PinMode::kAsk;
        case config::McpPin::kOff: return mcp::PinMode::kOff;
    }
    return mcp::PinMode::kAsk;
}

mcp::OutputCheck output_of(config::McpOutputRule rule) {
    switch (rule) {
        case config::McpOutputRule::kWarn: return mcp::OutputCheck::kWarn;
        case config::McpOutputRule::kStrict: return mcp::OutputCheck::kStrict;
        case config::McpOutputRule::kOff: return mcp::OutputCheck::kOff;
    }
    return mcp::OutputCheck::kWarn;
}

mcp::RevisionSet revisions_of(const std::vector<std::string>& versions) {
    if (versions.empty()) return {};
    std::vector<mcp::Revision> enabled;
    for (const std::string& version : versions) {
        if (const auto revision = mcp::find_revision(version)) enabled.push_back(*revision);
    }
    return mcp::RevisionSet(enabled);
}

/// As the operator's API names it.
std::string_view state_of(const mcp::UpstreamStatus& up) {
    using State = mcp::UpstreamStatus::State;
    switch (up.state) {
        case State::kConnecting: return "starting";
        case State::kUp:
            if (up.is_listed) return "ready";
            return up.last_error.empty() ? "starting" : "failing";
        case State::kIdle:
        case State::kStopped: return "stopped";
        case State::kDown: return "failing";
    }
    return "failing";
}

/// `name version` of a server's own words.
std::string shown_server(std::string_view server_info) {
    const auto info = json::Value::parse(server_info);
    if (!info) return {};
    std::string shown;
    for (const char* member : {"name", "version"}) {
        const json::Value* value = info->find(member);
        if (value == nullptr || value->as_string() == nullptr) continue;
        if (!shown.empty()) shown += ' ';
        shown += *value->as_string();
    }
    return shown;
}

mcp::ToolRules rules_of(const config::McpServerOptions& server) {
    mcp::ToolRules rules;
    rules.allow = server.tools_allow;
    rules.deny = server.tools_deny;
    for (const auto& [name, tool] : server.overrides)
        rules.overrides[name] = {.side_effects = tool.side_effects,
                                 .idempotent = tool.idempotent,
                                 .timeout = tool.timeout};
    rules.trust_annotations = server.trust_annotations;
    rules.drop_nulls = server.drop_nulls;
    rules.output = output_of(server.output);
    rules.timeout = server.timeout;
    rules.max_timeout = server.max_timeout;
    return rules;
}

}  // namespace

Result<mcp::UpstreamSettings> upstream_settings(const std::string& source,
                                                const config::McpServerOptions& server,
                                                const config::McpOptions& options,
                                                const std::filesystem::path& folder) {
    if (server.sandbox)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("mcp.servers.{}.sandbox: programs of MCP servers cannot be put "
                                "into a sandbox yet; leave it out, or do not run this one",
                                source));
    mcp::UpstreamSettings settings;
    mcp::UpstreamOptions& connection = settings.connection;
    connection.source = source;
    if (server.url.empty()) {
        mcp::UpstreamChild& child = connection.child.emplace();
        child.words.push_back(server.command);
        child.words.insert(child.words.end(), server.args.begin(), server.args.end());
        child.environment = environment_of(server);
        child.folder = server.cwd.empty() ? folder.string() : server.cwd.string();
    } else {
        connection.url = server.url;
        for (const auto& [name, value] : server.auth.headers)
            connection.headers.emplace_back(name, value.text.reveal());
    }
    connection.era = era_of(server.era);
    connection.enabled = revisions_of(options.versions);
    connection.ask = {.elicitation = server.ask_elicitation,
                      .sampling = server.ask_sampling,
                      .roots = server.ask_roots};
    connection.interactive = server.interactive;
    connection.probe_timeout = server.probe_timeout;
    connection.start_timeout = server.start_timeout;
    connection.max_reply = options.max_reply;
    connection.client_info = client_info();
    settings.tools = rules_of(server);
    settings.pin = pin_of(server.pin);
    settings.eager = server.eager;
    settings.shared_session = server.shared_session;
    settings.pass_instructions = server.pass_instructions;
    settings.at_once = server.at_once;
    settings.idle_stop = server.idle_stop;
    return settings;
}

Result<void> McpServers::start() {
    const GatewayContext& context = uses_.context;
    auto pins = store::sqlite::PinStoreSqlite::open(context.paths.state_dir / "trust.db",
                                                    {.check = store::sqlite::StartCheck::kNone});
    if (!pins) return fail(std::move(pins.error()));
    pins_ = std::move(*pins);
    auto tls = net::TlsContext::make({.role = net::TlsContext::Role::kClient,
                                      .peer_check = net::TlsContext::PeerCheck::kChainAndName,
                                      .alpn = "http/1.1"});
    if (!tls) return fail(std::move(tls.error()));
    loop_ = std::make_unique<net::LoopGroup>(1, context.clock);
    connector_ = std::make_unique<mcp::McpConnector>(mcp::UpstreamHttp::Surroundings{
        .loop = home(), .names = uses_.workers.names(), .tls = std::move(*tls)});
    upstreams_ = std::make_unique<mcp::Upstreams>(
        mcp::Upstreams::Uses{.home = home(),
                             .registry = context.registry,
                             .catalogs = uses_.shared.catalogs,
                             .watches = uses_.shared.watches,
                             .connector = *connector_,
                             .pins = *pins_,
                             .schemas = uses_.session_workers.schemas(),
                             .files = uses_.workers.pool()});
    options_ = context.config.mcp;
    apply();
    watch_ = uses_.known.changes().watch([this] { home().post([this] { apply(); }); });
    uses_.known.set_control(this);
    return {};
}

Result<Component::Change> McpServers::prepare(const config::GatewayConfig& next) {
    return Change([this, options = next.mcp] {
        {
            const std::scoped_lock lock(mutex_);
            if (options.versions != options_.versions) running_.clear();
            options_ = options;
        }
        apply();
    });
}

/// Touches only what differs from what runs.
void McpServers::apply() {
    const std::scoped_lock lock(mutex_);
    const std::shared_ptr<const config::McpServers> wanted = uses_.known.servers().get();
    for (const mcp::UpstreamStatus& up : upstreams_->status()) {
        const auto found = wanted->find(up.source);
        if (found == wanted->end() || !found->second.enabled) upstreams_->remove(up.source);
    }
    for (const auto& [source, server] : *wanted) {
        const auto before = running_.find(source);
        if (!server.enabled || (before != running_.end() && before->second == server)) continue;
        auto settings = upstream_settings(source, server, options_, uses_.context.paths.state_dir);
        if (settings) {
            upstreams_->put(std::move(*settings));
        } else {
            upstreams_->remove(source);
            log::error("an MCP server is left out",
                       {{"server", source}, {"reason", settings.error().message}});
        }
    }
    running_ = *wanted;
}

std::vector<admin::McpServerState> McpServers::states() {
    std::vector<admin::McpServerState> states;
    for (mcp::UpstreamStatus& up : upstreams_->status()) {
        admin::McpServerState& state = states.emplace_back();
        state.name = std::move(up.source);
        state.state = state_of(up);
        if (up.found) state.version = mcp::name_of(up.found->revision);
        state.server = shown_server(up.server_info);
        state.tools = up.tools;
        state.resources = up.resources + up.templates;
        state.prompts = up.prompts;
        for (mcp::LeftOut& out : up.left_out)
            state.left_out.push_back({std::move(out.name), std::move(out.reason)});
        state.held = up.held.size();
        state.error = std::move(up.last_error);
        state.stderr_tail = std::move(up.error_tail);
    }
    return states;
}

Result<std::vector<admin::McpChange>> McpServers::diff(std::string_view server) {
    auto held = upstreams_->diff(server);
    if (!held) return fail(std::move(held.error()));
    std::vector<admin::McpChange> changes;
    for (mcp::HeldBack& each : *held)
        changes.push_back(
            {std::move(each.kind), std::move(each.key), std::move(each.was), std::move(each.now)});
    return changes;
}

Result<std::vector<std::string>> McpServers::approve(std::string_view server,
                                                     const std::vector<std::string>& names) {
    return upstreams_->accept(server, names);
}

void McpServers::add_metrics(core::MetricsPage& page) {
    page.add([this](std::string& out) {
        const auto all = upstreams_->status();
        const auto up =
            std::ranges::count(all, mcp::UpstreamStatus::State::kUp, &mcp::UpstreamStatus::state);
        core::append_metric(out, "crab_mcp_servers", "gauge", "MCP servers that are configured.",
                            static_cast<double>(all.size()));
        core::append_metric(out, "crab_mcp_servers_up", "gauge", "MCP servers that answer now.",
                            static_cast<double>(up));
    });
}

void McpServers::run() {
    if (!std::exchange(loop_runs_, true)) loop_->start();
}

void McpServers::stop(Deadline) {
    uses_.known.set_control(nullptr);
    watch_ = {};
    run();  // start-up may have failed before begin()
    upstreams_->stop();
}

}  // namespace crab::gateway
