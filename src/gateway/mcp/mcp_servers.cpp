#include "gateway/mcp/mcp_servers.hpp"

#include "adapters/mcp/auth/url_bounds.hpp"
#include "base/log.hpp"
#include "base/process/file.hpp"
#include "base/version.hpp"
#include "config/paths.hpp"
#include "config/plain_http.hpp"
#include "core/audit/metrics.hpp"
#include "json/writer.hpp"
#include "net/loop/finish_on.hpp"
#include "net/tls/tls_context.hpp"
#include "store/stores.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

namespace crab::gateway {
namespace {

constexpr std::string_view kWorkFolder = "mcp_work";
constexpr std::chrono::seconds kLastRenewals{2};  // of logins, when the gateway stops

std::string client_info() {
    std::string info;
    json::Writer(info)
        .begin_object()
        .key("name")
        .string("crab")
        .key("version")
        .string(version())
        .end_object();
    return info;
}

/// What a server's program sees of the gateway's environment, and what its own configuration says.
/// In a sandbox no home is shown, and what is temporary is its own.
std::vector<std::string> environment_of(const config::McpServerOptions& server) {
    constexpr std::array kPassed{"PATH", "HOME", "LANG", "TZ", "TMPDIR"};
    std::vector<std::string> environment;
    for (const std::string_view name : kPassed) {
        const bool is_place = name == "HOME" || name == "TMPDIR";
        const char* const value = server.sandbox && is_place ? "/tmp" : std::getenv(name.data());
        if (value != nullptr && !server.env.contains(name))
            environment.push_back(fmt::format("{}={}", name, value));
    }
    for (const auto& [name, value] : server.env)
        environment.push_back(fmt::format("{}={}", name, value.text.reveal()));
    return environment;
}

net::TlsContext::Options tls_to_servers() {
    return {.role = net::TlsContext::Role::kClient,
            .peer_check = net::TlsContext::PeerCheck::kChainAndName,
            .alpn = "http/1.1"};
}

/// Of a server with authorities or a certificate of its own; null for others. Reads the files.
Result<std::shared_ptr<net::TlsContext>> own_tls_of(const std::string& source,
                                                    const config::McpTlsOptions& tls) {
    if (tls == config::McpTlsOptions{}) return std::shared_ptr<net::TlsContext>();
    net::TlsContext::Options options = tls_to_servers();
    options.ca.file = tls.ca;
    options.certificate.file = tls.cert;
    options.key.file = tls.key;
    auto made = net::TlsContext::make(std::move(options));
    if (!made)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("mcp.servers.{}.tls: {}", source, made.error().message));
    return made;
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

constexpr std::string_view kLoginsFolder = "mcp_logins";
constexpr std::size_t kMostOfAKey = std::size_t{64} << 10;

Result<crypto::PrivateKey> read_private_key(const std::filesystem::path& path) {
    auto text = read_file(path, kMostOfAKey);
    if (!text) return fail(std::move(text.error()));
    return crypto::PrivateKey::from_pem(Secret<std::string>(std::move(*text)));
}

/// Empty: the gateway.
bool is_principal(std::string_view text) {
    constexpr std::size_t kMost = 512;
    return text.empty() || (text.size() <= kMost && text.contains('/') &&
                            std::ranges::all_of(text, [](char c) { return c > ' ' && c != 0x7f; }));
}

/// Whose tokens are meant by a principal: the user of this machine shares the gateway's.
mcp::TokenKey key_of(std::string_view source, std::string_view principal) {
    const bool own = !principal.starts_with("local/");
    return {.source = std::string(source), .owner = std::string(own ? principal : "")};
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

Result<void> make_work_folder(const std::filesystem::path& folder, const std::string& source) {
    for (const auto& each : {folder, folder / source}) {
        if (auto made = config::ensure_private_directory(each, ::getuid()); !made) return made;
    }
    return {};
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

/// Whether it is another program or address, and not the same one with other options.
bool is_another(const config::McpServerOptions& before, const config::McpServerOptions& now) {
    return before.command != now.command || before.args != now.args || before.url != now.url;
}

}  // namespace

Result<mcp::UpstreamSettings> upstream_settings(const std::string& source,
                                                const config::McpServerOptions& server,
                                                const config::McpOptions& options,
                                                const std::filesystem::path& folder) {
    mcp::UpstreamSettings settings;
    mcp::UpstreamOptions& connection = settings.connection;
    connection.source = source;
    if (server.url.empty()) {
        mcp::UpstreamChild& child = connection.child.emplace();
        child.words.push_back(server.command);
        child.words.insert(child.words.end(), server.args.begin(), server.args.end());
        child.environment = environment_of(server);
        // Not the state folder: some programs offer all that is where they run.
        child.folder = server.cwd.empty() ? (folder / source).string() : server.cwd.string();
    } else {
        auto tls = own_tls_of(source, server.tls);
        if (!tls) return fail(std::move(tls.error()));
        connection.url = server.url;
        connection.tls = std::move(*tls);
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

Result<mcp::UpstreamAuth> upstream_auth(const std::string& source,
                                        const config::McpServerOptions& server) {
    using Kind = mcp::UpstreamAuth::Kind;
    mcp::UpstreamAuth auth;
    if (server.url.empty() || !server.auth.headers.empty()) return auth;
    auth.kind = Kind::kUser;
    if (!server.auth.client_credentials) return auth;
    const config::McpClientCredentials& given = *server.auth.client_credentials;
    auth.kind = Kind::kClientCredentials;
    auth.issuer = given.issuer;
    auth.client = {.id = given.client_id, .secret = given.client_secret.text, .auth_method = {}};
    auth.scopes = given.scopes;
    if (given.key_file.empty()) return auth;
    auto key = read_private_key(given.key_file);
    if (!key)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("mcp.servers.{}.auth.client_credentials.key_file: {}", source,
                                key.error().message));
    auth.key = std::move(*key);
    return auth;
}

std::span<const ConfigKey> McpServers::keys() const {
    static constexpr ConfigKey kKeys[] = {
        reload_key("mcp.client_metadata_url",
                   [](auto& c) -> auto& { return c.mcp.client_metadata_url; }),
        restart_key("mcp.max_reply", [](auto& c) -> auto& { return c.mcp.max_reply; })};
    return kKeys;
}

/// Over HTTP with what servers of authorization gave, which outlives a restart.
Result<void> McpServers::open_connector() {
    auto tls = net::TlsContext::make(tls_to_servers());
    if (!tls) return fail(std::move(tls.error()));
    auto folder = crypto::KeyFolder::open(uses_.context.paths.state_dir / kLoginsFolder);
    if (!folder) return fail(std::move(folder.error()));
    auto credentials = mcp::OAuthCredentialsFile::open(std::move(*folder), uses_.workers.pool());
    if (!credentials) return fail(std::move(credentials.error()));
    credentials_ = std::move(*credentials);
    net::EventLoop& loop = home();
    fetch_ = std::make_unique<mcp::GuardedFetch>(loop, uses_.workers.names(), *tls);
    authorizer_ = std::make_unique<mcp::OAuthAuthorizer>(
        *fetch_, *credentials_, loop.executor(), loop.timers(), loop.clock(),
        [this](const std::string& source) { return auth_of(source); });
    waited_for_.emplace(loop);
    logins_ = std::make_unique<McpLogins>(*waited_for_, *fetch_, *credentials_);
    connector_ = std::make_unique<mcp::McpConnector>(
        mcp::UpstreamHttp::Services{.loop = loop,
                                    .names = uses_.workers.names(),
                                    .tls = std::move(*tls),
                                    .authorizer = authorizer_.get()});
    return {};
}

mcp::UpstreamAuth McpServers::auth_of(const std::string& source) {
    const std::scoped_lock lock(auth_mutex_);
    const auto found = auth_.find(source);
    return found != auth_.end() ? found->second : mcp::UpstreamAuth{};
}

Result<void> McpServers::start() {
    const GatewayContext& context = uses_.context;
    auto pins = context.stores->open_pins();
    if (!pins) return fail(std::move(pins.error()));
    pins_ = std::move(*pins);
    loop_ = std::make_unique<net::LoopGroup>(1, context.clock);
    if (auto opened = open_connector(); !opened) return opened;
    upstreams_ = std::make_unique<mcp::Upstreams>(
        mcp::Upstreams::Uses{.home = home(),
                             .registry = context.registry,
                             .catalogs = uses_.shared.catalogs,
                             .watches = uses_.shared.watches,
                             .connector = *connector_,
                             .pins = *pins_,
                             .schemas = uses_.session_workers.schemas(),
                             .files = uses_.workers.pool()});
    eras_.emplace(context.paths.state_dir / "mcp_eras.json");
    options_ = context.config.mcp;
    apply();
    catalogs_ =
        uses_.shared.catalogs.changes().watch([this] { home().post([this] { keep_eras(); }); });
    watch_ = uses_.known.changes().watch([this] { home().post([this] { apply(); }); });
    uses_.known.set_control(this);
    return {};
}

Result<Component::Change> McpServers::prepare(const config::GatewayConfig& next) {
    return Change([this, options = next.mcp] {
        {
            const std::scoped_lock lock(mutex_);
            options_ = options;
        }
        apply();
    });
}

/// Touches only what differs from what runs.
void McpServers::apply() {
    const std::scoped_lock lock(mutex_);
    const std::shared_ptr<const config::McpServers> wanted = uses_.known.servers().get();
    for (const auto& [source, server] : running_) {
        const auto found = wanted->find(source);
        if (found == wanted->end() || is_another(server, found->second)) {
            forget(source);
        } else if (!found->second.enabled) {
            upstreams_->remove(source);
        }
    }
    for (const auto& [source, server] : *wanted) {
        const auto before = running_.find(source);
        const bool same = before != running_.end() && before->second == server;
        if (server.enabled && !same) put(source, server);
    }
    running_ = *wanted;
}

/// Another server of this name gets nothing that was meant for it: no approval, no token, no login
/// that has begun.
void McpServers::forget(const std::string& source) {
    credentials_->forget_source(source);
    home().post([this, source] {
        logins_->forget(source);
        authorizer_->forget(source);
    });
    // once more when nothing runs that could renew a token
    upstreams_->forget(
        source, [credentials = credentials_.get(), source] { credentials->forget_source(source); });
}

/// With the folder and the wrapping of its program, if it is one.
Result<mcp::UpstreamSettings> McpServers::usable_settings(const std::string& source,
                                                          const config::McpServerOptions& server) {
    const auto folder = uses_.context.paths.state_dir / kWorkFolder;
    auto settings = upstream_settings(source, server, options_, folder);
    if (!settings || !settings->connection.child) return settings;
    if (server.cwd.empty()) {
        if (auto made = make_work_folder(folder, source); !made)
            return fail(std::move(made.error()));
    }
    const auto servers = uses_.known.servers().get();
    auto wrap = uses_.known.programs().wrap_for(*servers, source, server);
    if (!wrap) return fail(std::move(wrap.error()));
    settings->connection.child->wrap = std::move(*wrap);
    return settings;
}

void McpServers::put(const std::string& source, const config::McpServerOptions& server) {
    auto settings = usable_settings(source, server);
    auto auth = upstream_auth(source, server);
    if (!settings || !auth) {
        upstreams_->remove(source);
        log::error("an MCP server is left out",
                   {{"server", source},
                    {"reason", !settings ? settings.error().message : auth.error().message}});
        return;
    }
    if (server.era == config::McpEra::kProbe)
        settings->connection.known = eras_->find(source, server);
    if (auth->kind == mcp::UpstreamAuth::Kind::kUser)
        settings->has_logins = [credentials = credentials_.get(), source,
                                always = server.auth.user] {
            return always || credentials->has_tokens(source);
        };
    {
        const std::scoped_lock lock(auth_mutex_);
        auth_.insert_or_assign(source, std::move(*auth));
    }
    upstreams_->put(std::move(*settings));
}

/// Of those that are up, whose era is proven.
void McpServers::keep_eras() {
    const std::scoped_lock lock(mutex_);
    if (!upstreams_) return;
    for (const auto& [source, era] : upstreams_->proven_eras()) {
        const auto server = running_.find(source);
        if (server != running_.end()) eras_->keep(source, server->second, era);
    }
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
        for (mcp::SkippedEntry& out : up.left_out)
            state.left_out.push_back({std::move(out.name), std::move(out.reason)});
        state.held = up.held.size();
        state.removed = up.removed;
        state.off_schema = up.off_schema;
        state.off_schema_tool = std::move(up.off_schema_tool);
        state.dropped = up.dropped;
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
        changes.push_back({.kind = std::move(each.kind),
                           .name = std::move(each.key),
                           .why = std::string(mcp::name_of(each.why)),
                           .before = std::move(each.was),
                           .after = std::move(each.now),
                           .digest = std::move(each.digest)});
    return changes;
}

Task<Result<std::vector<std::string>>> McpServers::approve(
    std::string server, std::vector<admin::McpApproval> entries) {
    std::vector<mcp::SeenEntry> seen;
    for (admin::McpApproval& each : entries)
        seen.push_back({std::move(each.kind), std::move(each.name), std::move(each.digest)});
    return upstreams_->accept(std::move(server), std::move(seen));
}

// ---- Logins

Result<mcp::LoginOptions> McpServers::login_options(std::string_view server,
                                                    std::string_view principal,
                                                    std::string_view redirect_uri) {
    const std::shared_ptr<const config::McpServers> all = uses_.known.servers().get();
    const auto found = all->find(server);
    if (found == all->end())
        return fail(ErrorCode::kNotFound, "there is no such MCP server that can be used");
    // not auth_of(): a server that was added just now may not be there yet
    const auto auth = upstream_auth(found->first, found->second);
    if (!auth) return fail(auth.error());
    if (auth->kind != mcp::UpstreamAuth::Kind::kUser)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("nobody logs in at {}: it is a program, or its configuration says "
                                "how the gateway shows itself there",
                                server));
    if (!found->second.auth.allow_plain && config::is_plain_elsewhere(found->second.url))
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("{} is http on another machine, where the token could be read on "
                                "the way: use https://, or auth.allow_plain where something else "
                                "encrypts",
                                server));
    if (!is_principal(principal))
        return fail(ErrorCode::kInvalidArgs, "a principal has the form caller/ann");
    const auto redirect = net::HttpUrl::parse(redirect_uri);
    if (!redirect || redirect->tls || !mcp::names_loopback(*redirect))
        return fail(ErrorCode::kInvalidArgs, "redirect_uri has to be http on a loopback address");
    mcp::LoginOptions options{.key = key_of(server, principal),
                              .url = found->second.url,
                              .redirect_uri = std::string(redirect_uri)};
    if (const auto& client = found->second.auth.client) {
        options.configured_issuer = client->issuer;
        options.configured = mcp::OAuthClient{
            .id = client->client_id, .secret = client->client_secret.text, .auth_method = {}};
    }
    const std::scoped_lock lock(mutex_);
    options.metadata_document = options_.client_metadata_url;
    return options;
}

Task<Result<McpServers::Known>> McpServers::last_challenge(mcp::TokenKey key) {
    co_return authorizer_->last_challenge(key);
}

Task<Result<void>> McpServers::connect_once(mcp::UpstreamOptions options) {
    auto session = co_await connector_->connect(std::move(options), {});
    if (session) co_await (*session)->close();
    co_return Result<void>();
}

/// What the server wants of this owner: what it said last, else what it says to a first request.
mcp::BearerChallenge McpServers::ask_for_challenge(const mcp::TokenKey& key) {
    const auto last = [&] { return waited_for_->wait_for(last_challenge(key)).value_or(Known()); };
    if (Known known = last()) return *known;
    const auto all = uses_.known.servers().get();
    const auto server = all->find(key.source);
    if (server == all->end()) return {};
    auto settings = [&] {
        const std::scoped_lock lock(mutex_);
        return upstream_settings(key.source, server->second, options_, {});
    }();
    if (!settings) return {};
    settings->connection.owner = key.owner;
    if (!waited_for_->wait_for(connect_once(std::move(settings->connection)))) return {};
    return last().value_or(mcp::BearerChallenge{});
}

Result<admin::McpLoginBegun> McpServers::begin_login(std::string_view server,
                                                     std::string_view principal,
                                                     std::string_view redirect_uri) {
    auto options = login_options(server, principal, redirect_uri);
    if (!options) return fail(std::move(options.error()));
    mcp::BearerChallenge challenge = ask_for_challenge(options->key);
    auto begun = logins_->begin(std::move(*options), std::move(challenge));
    if (!begun) return fail(std::move(begun.error()));
    return admin::McpLoginBegun{.id = std::move(begun->id), .url = std::move(begun->url)};
}

Result<void> McpServers::finish_login(std::string_view server, std::string_view login,
                                      std::string_view redirected) {
    auto done = logins_->finish(server, login, std::string(redirected));
    if (done) upstreams_->try_again(server);
    return done;
}

Result<void> McpServers::logout(std::string_view server, std::string_view principal) {
    const mcp::TokenKey key = key_of(server, principal);
    if (!credentials_->find_tokens(key))
        return fail(ErrorCode::kNotFound, fmt::format("there is no such login at {}", server));
    credentials_->forget_tokens(key);
    return {};
}

void McpServers::add_metrics(core::MetricsPage& page) {
    page.add([this](std::string& out) {
        const auto all = upstreams_->states();
        const auto up = std::ranges::count_if(
            all, [](const auto& each) { return each.second == mcp::UpstreamStatus::State::kUp; });
        core::append_metric(out, "crab_mcp_servers", "gauge", "MCP servers that are configured.",
                            static_cast<double>(all.size()));
        core::append_metric(out, "crab_mcp_servers_up", "gauge", "MCP servers that answer now.",
                            static_cast<double>(up));
        out +=
            "# HELP crab_mcp_off_schema_results_total Results that broke their tool's output "
            "schema and were passed on.\n# TYPE crab_mcp_off_schema_results_total counter\n";
        const auto counts = upstreams_->counts();
        for (const auto& each : counts)
            out += fmt::format("crab_mcp_off_schema_results_total{{server=\"{}\"}} {}\n",
                               each.source, each.off_schema);
        out +=
            "# HELP crab_mcp_dropped_messages_total Messages of an MCP server that nobody had "
            "asked for, or could answer.\n# TYPE crab_mcp_dropped_messages_total counter\n";
        for (const auto& each : counts)
            out += fmt::format("crab_mcp_dropped_messages_total{{server=\"{}\"}} {}\n", each.source,
                               each.dropped);
    });
}

void McpServers::run() {
    if (!std::exchange(loop_runs_, true)) loop_->start();
}

void McpServers::stop(Deadline deadline) {
    uses_.known.set_control(nullptr);
    watch_ = {};
    catalogs_ = {};
    keep_eras();
    run();  // start-up may have failed before begin()
    // the answer may hold what a login needs from now on
    const Deadline last = uses_.context.clock.steady_now() + kLastRenewals;
    (void)waited_for_->wait_for(authorizer_->finish(std::min(deadline, last)));
    waited_for_->stop();
    upstreams_->stop();
    net::finish_on(home(),
                   [this](std::function<void()> done) { authorizer_->stop(std::move(done)); });
}

}  // namespace crab::gateway
