#include "gateway/gateway.hpp"

#include "base/process/folder_lock.hpp"
#include "base/process/test_folder.hpp"
#include "gateway/gateway_components.hpp"
#include "gateway/operator/config_changes.hpp"
#include "runtime/lifecycle.hpp"

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::gateway {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t entries_in(const std::filesystem::path& folder) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}
std::size_t threads() { return entries_in("/proc/self/task"); }
/// Descriptors of this process that are sockets.
std::size_t sockets() {
    std::size_t found = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        if (std::filesystem::read_symlink(entry.path(), gone).string().starts_with("socket:"))
            ++found;
    }
    return found;
}

/// A request on the admin socket; the answer as it came.
std::string ask(const std::string& socket_path, const std::string& path) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
    std::string answer;
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
        const std::string request =
            "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        (void)::send(fd, request.data(), request.size(), MSG_NOSIGNAL);
        char some[4096];
        for (ssize_t n; (n = ::recv(fd, some, sizeof some, 0)) > 0;)
            answer.append(some, static_cast<std::size_t>(n));
    }
    ::close(fd);
    return answer;
}

/// A component that does not start, in the place of one that would. What comes after it is never
/// asked for anything.
class FailingStart final : public Component {
public:
    explicit FailingStart(const Component& other) : other_(other) {}
    std::string_view name() const override { return other_.name(); }
    Result<void> start() override { return fail(ErrorCode::kUnavailable, "this start fails"); }

private:
    const Component& other_;
};

/// An API that is nothing but a line in the list.
class GreetingApi final : public Component {
public:
    std::string_view name() const override { return "greetings"; }
    Result<void> start() override { return {}; }
    void add_metrics(core::MetricsPage& page) override {
        page.add([](std::string& out) { out += "greetings_total 0\n"; });
    }
    void add_routes(const ListenerRoutes& table) override {
        if (table.kind == ListenerKind::kPeers) return;
        table.routes.add({.path = "/v1/greeting", .who = net::Caller::kAnyone, .summary = "Hello"},
                         [](const net::Routes<core::PrincipalRef>::Request& request) {
                             request.exchange.respond(200, "text/plain", "hello");
                         });
    }
};

/// Gateways in a folder of their own, with every listener on a port or a socket of the system's
/// choice.
class GatewayTest : public testing::Test {
protected:
    GatewayTest() {
        config.gateway.threads = 2;
        config.listen.public_address = config::HostPort{"127.0.0.1", 0};
        config.listen.peers = config::HostPort{"127.0.0.1", 0};
        config.grpc.address = config::HostPort{"127.0.0.1", 0};
        config.grpc.unix_socket = folder / "grpc.sock";
        config.built_in_hosts = {.memory = true, .cron = true};
    }

    /// Whatever needs no other server to start. The addresses are of nobody: who is called there is
    /// called again later.
    void configure_everything() {
        const std::string nobody = "127.0.0.1:9";
        config.listen.console = config::ConsoleAccess::kPeople;
        config.push.contact = "mailto:me@home.example";
        config.tracing.otlp = "http://" + nobody;
        config.models.push_back({.model = "m", .url = "http://" + nobody});
        config.agents.push_back({.name = "cook"});
        config.hitl = config::RemoteServiceOptions{.address = nobody};
        config.mcp.servers["kitchen"].url = "http://" + nobody + "/mcp";
        config.mcp.scopes["cooks"].instructions = "Cook.";
        config.mcp.legacy_sse = true;
        config.worktrees.push_back({.id = "garden/main", .path = garden / "main"});
        config.hosts.push_back({.name = "shed", .unix_socket = folder / "shed.sock"});
        config.providers.push_back({.id = "remote",
                                    .kind = config::ProviderKind::kGrpc,
                                    .remote = {.service = {.address = nobody}}});
    }
    Result<std::unique_ptr<Gateway>> start() {
        return Gateway::start(config, paths(),
                              [this] { return Result<config::GatewayConfig>(config); });
    }
    GatewayPaths paths() const {
        return {.state_dir = folder / "state", .admin_socket = folder / "admin.sock"};
    }
    static Result<void> no_reload() { return {}; }

    TestFolder folder, garden;  ///< the garden: a worktree's, which may not be in the other
    config::GatewayConfig config;
};

TEST_F(GatewayTest, ServesOnEveryListenerAndLeavesNothingBehind) {
    const std::size_t threads_before = threads(), sockets_before = sockets();
    auto gateway = start();
    ASSERT_TRUE(gateway) << gateway.error().message;
    EXPECT_THAT((*gateway)->public_endpoint(), HasSubstr("127.0.0.1:"));
    EXPECT_THAT((*gateway)->peer_endpoint(), HasSubstr("127.0.0.1:"));
    EXPECT_THAT((*gateway)->grpc_endpoint(), HasSubstr("127.0.0.1:"));
    EXPECT_THAT(ask((*gateway)->admin_socket(), "/readyz"), HasSubstr("HTTP/1.1 200"));
    const std::string metrics = ask((*gateway)->admin_socket(), "/metrics");
    for (const std::string_view component :
         GatewayComponents(config, paths(), no_reload, {}, {}).all.names())
        EXPECT_THAT(metrics, HasSubstr("crab_component_healthy{component=\"" +
                                       std::string(component) + "\"} 1"));
    (*gateway)->stop();
    EXPECT_TRUE(lock_folder(folder / "state")) << "another gateway may have the folder";
    gateway->reset();
    EXPECT_EQ(threads(), threads_before);
    EXPECT_EQ(sockets(), sockets_before);
}

TEST_F(GatewayTest, WhicheverComponentDoesNotStartWhatHadStartedStops) {
    configure_everything();
    std::filesystem::create_directory(garden / "main");
    {
        const auto first = start();  // makes keys and databases
        ASSERT_TRUE(first) << first.error().message;
    }
    const std::size_t threads_before = threads(), sockets_before = sockets();
    const auto names = GatewayComponents(config, paths(), no_reload, {}, {}).all.names();
    EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
        SCOPED_TRACE(names[i]);
        {
            GatewayComponents components(config, paths(), no_reload, {}, {});
            std::vector<Component*> some = components.all.in_order();
            FailingStart failing(*some[i]);
            some[i] = &failing;
            runtime::Lifecycle lifecycle(components.clock, some);
            const auto started = lifecycle.start();
            ASSERT_FALSE(started);
            EXPECT_EQ(started.error().message, "this start fails");
        }
        EXPECT_EQ(threads(), threads_before);
        EXPECT_EQ(sockets(), sockets_before);
        EXPECT_EQ(ask(folder / "admin.sock", "/readyz"), "") << "nobody is served";
    }
    EXPECT_TRUE(start()) << "and then it starts";
}

TEST_F(GatewayTest, AnApiIsServedOnItsListenersByOneLineInTheList) {
    GatewayComponents components(config, paths(), no_reload, {}, {});
    components.all.add<GreetingApi>();
    runtime::Lifecycle lifecycle(components.clock, components.all.in_order());
    const auto started = lifecycle.start();
    ASSERT_TRUE(started) << started.error().message;
    lifecycle.begin(components.metrics);
    const std::string admin = components.paths.admin_socket;
    EXPECT_THAT(ask(admin, "/v1/greeting"), HasSubstr("\r\n\r\nhello"));
    EXPECT_THAT(ask(admin, "/metrics"), HasSubstr("greetings_total 0"));
    EXPECT_THAT(ask(admin, "/v1/farewell"), HasSubstr("HTTP/1.1 404"));
    std::size_t of_public = 0;
    for (const ListenerRoutes& table : components.public_listener.tables()) {
        EXPECT_TRUE(table.routes.table().find("GET", "/v1/greeting").found());
        of_public += 1;
    }
    EXPECT_EQ(of_public, config.gateway.threads) << "one for each event loop";
    for (const ListenerRoutes& table : components.peers.tables())
        EXPECT_FALSE(table.routes.table().find("GET", "/v1/greeting").found());
}

TEST_F(GatewayTest, AReloadSaysWhatItAppliesAndWhatWaitsForARestart) {
    auto gateway = start();
    ASSERT_TRUE(gateway) << gateway.error().message;
    config.leases.max_per_peer = 7;
    config.limits.tool_name = 64;
    config.audit.retention = std::chrono::days(5);
    testing::internal::CaptureStderr();
    ASSERT_TRUE((*gateway)->reload());
    const std::string first = testing::internal::GetCapturedStderr();
    EXPECT_THAT(first, HasSubstr("changed=\"leases, limits.tool_name\""));
    EXPECT_THAT(first, HasSubstr("keys=audit"));
    testing::internal::CaptureStderr();
    ASSERT_TRUE((*gateway)->reload());
    const std::string second = testing::internal::GetCapturedStderr();
    EXPECT_THAT(second, HasSubstr("nothing that counts at once"));
    EXPECT_THAT(second, HasSubstr("keys=audit")) << "told until it is taken back";
}

TEST_F(GatewayTest, AReloadThatOneComponentRefusesChangesNothing) {
    auto gateway = start();
    ASSERT_TRUE(gateway) << gateway.error().message;
    const config::GatewayConfig good = config;
    config.gateway.log.level = log::Level::kError;
    config.models.push_back({.model = "m", .url = "no address", .key_env = "CRAB_TEST_NO_KEY"});
    const auto refused = (*gateway)->reload();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgs);
    EXPECT_TRUE(log::enabled(log::Level::kInfo)) << "the log's level came before, and stays";
    config = good;
    EXPECT_TRUE((*gateway)->reload());
}

using Config = config::GatewayConfig&;
using Change = void (*)(Config);

/// One change of each key that a reload applies.
constexpr Change kReloadChanges[] = {
    [](Config c) { c.gateway.log.format = log::Format::kJson; },
    [](Config c) { c.gateway.log.format = log::Format::kText; },
    [](Config c) { c.gateway.log.levels = {{"trust", log::Level::kWarn}}; },
    [](Config c) { c.listen.allowed_origins = {"https://a.example"}; },
    [](Config c) { c.listen.host_names = {"crab.example"}; },
    [](Config c) { c.listen.max_connections_per_principal += 1; },
    [](Config c) { c.limits.message_bytes += 1; },
    [](Config c) { c.limits.json_depth += 1; },
    [](Config c) { c.limits.tools_per_connection += 1; },
    [](Config c) { c.limits.tool_name += 1; },
    [](Config c) { c.limits.description_bytes += 1; },
    [](Config c) { c.limits.parameters_bytes += 1; },
    [](Config c) { c.limits.calls_per_connection += 1; },
    [](Config c) { c.limits.waiting_turns += 1; },
    [](Config c) { c.limits.result_bytes += 1; },
    [](Config c) { c.devices.grace += Milliseconds(1); },
    [](Config c) { c.devices.ping_after += std::chrono::seconds(1); },
    [](Config c) { c.devices.permessage_deflate = true; },
    [](Config c) { c.devices.query_token = false; },
    [](Config c) { c.calls.default_timeout += Milliseconds(1); },
    [](Config c) { c.calls.max_timeout += Milliseconds(1); },
    [](Config c) { c.calls.max_retries += 1; },
    [](Config c) { c.rates.push_back({.per_second = 9, .burst = 9}); },
    [](Config c) { c.policy.push_back({.principal = "*", .call_allow = {"*"}}); },
    [](Config c) { c.peers.push_back({.id = "tool_host/a"}); },
    [](Config c) { c.leases.max_per_peer += 1; },
    [](Config c) { c.listen.console = config::ConsoleAccess::kPeople; },
    [](Config c) { c.approvals.wait += Milliseconds(1); },
    [](Config c) { c.approvals.max_waiting += 1; },
    [](Config c) { c.approvals.max_waiting_per_principal += 1; },
    [](Config c) { c.approvals.unattended = config::UnattendedRule::kWait; },
    [](Config c) { c.approvals.in_chat = config::ChatApprover::kOwner; },
    [](Config c) { c.approvals.new_tools = config::NewToolRule::kAsk; },
    [](Config c) { c.tools.push_back({.match = "a*", .idempotent = true}); },
    [](Config c) {
        c.hooks.push_back({.name = "no", .type = config::HookType::kDeny, .reason = "no"});
    },
    [](Config c) { c.artifacts.max_bytes += 1; },
    [](Config c) { c.artifacts.inline_bytes += 1; },
    [](Config c) { c.artifacts.tenant_bytes += 1; },
    [](Config c) { c.artifacts.total_bytes += 1; },
    [](Config c) { c.artifacts.uploads += 1; },
    [](Config c) { c.artifacts.ttl += Milliseconds(1000); },
    [](Config c) { c.models.push_back({.model = "m", .url = "http://127.0.0.1:9"}); },
    [](Config c) { c.agent.max_rounds += 1; },
    [](Config c) { c.agents.push_back({.name = "other"}); },
    [](Config c) { c.mcp.servers["one"].url = "https://mcp.example/mcp"; },
    [](Config c) { c.mcp.client_metadata_url = "https://gw.example/client.json"; },
    [](Config c) { c.tracing.sample = 0.5; },
    [](Config c) { c.tracing.always = {"errors"}; },
    [](Config c) { c.push.services = {"https://push.example"}; },
    [](Config c) { c.metrics.tools = {"disk_*"}; },
};

/// One change of each key that needs a restart.
constexpr Change kRestartChanges[] = {
    [](Config c) { c.gateway.name = "other"; },
    [](Config c) { c.gateway.threads += 1; },
    [](Config c) { c.gateway.state_dir = "/other"; },
    [](Config c) { c.gateway.runtime_dir = "/other"; },
    [](Config c) { c.listen.public_address = config::HostPort{"127.0.0.1", 9}; },
    [](Config c) { c.listen.path_prefix = "/other"; },
    [](Config c) { c.listen.tls = config::TlsOptions{.cert = "/no.pem", .key = "/no.key"}; },
    [](Config c) { c.listen.open_loopback = true; },
    [](Config c) { c.listen.device_page = false; },
    [](Config c) { c.listen.max_connections += 1; },
    [](Config c) { c.listen.admin_socket = "/other.sock"; },
    [](Config c) { c.listen.peers = config::HostPort{"127.0.0.1", 9}; },
    [](Config c) { c.grpc.max_connections += 1; },
    [](Config c) { c.limits.request_body_bytes += 1; },
    [](Config c) { c.limits.outgoing_queue_bytes += 1; },
    [](Config c) { c.limits.slow_reader += std::chrono::seconds(1); },
    [](Config c) { c.devices.token_lifetime += std::chrono::days(1); },
    [](Config c) { c.approvals.in_mcp = config::ChatApprover::kOwner; },
    [](Config c) { c.events.chat_answers = false; },
    [](Config c) { c.audit.retention += std::chrono::days(1); },
    [](Config c) { c.built_in_hosts.memory = false; },
    [](Config c) { c.hosts.push_back({.name = "other", .unix_socket = "/other.sock"}); },
    [](Config c) { c.worktrees.push_back({.id = "a/b", .path = "/other"}); },
    [](Config c) { c.worktree_service = config::RemoteServiceOptions{.address = "[::1]:9"}; },
    [](Config c) { c.hitl = config::RemoteServiceOptions{.address = "[::1]:9"}; },
    [](Config c) { c.providers.push_back({.id = "other"}); },
    [](Config c) { c.secrets.push_back({.name = "other", .env = "CRAB_TEST_NO_SECRET"}); },
    [](Config c) { c.pairing.allow_insecure_loopback = false; },
    [](Config c) { c.fleet = config::FleetOptions{.name = "other", .dsn_file = "/dsn"}; },
    [](Config c) { c.mcp.enabled = false; },
    [](Config c) { c.mcp.versions = {"2025-11-25"}; },
    [](Config c) { c.mcp.instructions = "other"; },
    [](Config c) { c.mcp.names.max += 1; },
    [](Config c) { c.mcp.budget.tools += 1; },
    [](Config c) { c.mcp.pinned = {"a*"}; },
    [](Config c) { c.mcp.scopes["other"].instructions = "other"; },
    [](Config c) { c.mcp.oauth = config::McpOauthOptions{.issuer = "https://id.example"}; },
    [](Config c) { c.mcp.legacy_sse = true; },
    [](Config c) { c.mcp.page += 1; },
    [](Config c) { c.mcp.max_request += 1; },
    [](Config c) { c.mcp.max_reply += 1; },
    [](Config c) { c.mcp.sessions_per_principal += 1; },
    [](Config c) { c.mcp.streams_per_principal += 1; },
    [](Config c) { c.mcp.stream_after += Milliseconds(1); },
    [](Config c) { c.mcp.keepalive += Milliseconds(1); },
    [](Config c) { c.mcp.list_ttl += Milliseconds(1); },
    [](Config c) { c.mcp.session_idle += Milliseconds(1); },
    [](Config c) { c.mcp.task_after += Milliseconds(1); },
    [](Config c) { c.mcp.input_wait += Milliseconds(1); },
    [](Config c) { c.mcp.poll_after += Milliseconds(1); },
    [](Config c) { c.tracing.otlp = "http://collector.example"; },
    [](Config c) { c.tracing.headers_file = "/headers"; },
    [](Config c) { c.tracing.allow_plain = true; },
    [](Config c) { c.tracing.ca = "/ca.pem"; },
    [](Config c) { c.push.contact = "mailto:me@home.example"; },
};

/// Each key of a reload is taken over by a running gateway, one after the other.
TEST_F(GatewayTest, EveryKeyThatAReloadAppliesCanChangeWhileItRuns) {
    auto gateway = start();
    ASSERT_TRUE(gateway) << gateway.error().message;
    for (const Change& change : kReloadChanges) {
        SCOPED_TRACE(testing::Message() << "change " << &change - std::begin(kReloadChanges));
        change(config);
        testing::internal::CaptureStderr();
        const auto reloaded = (*gateway)->reload();
        const std::string log = testing::internal::GetCapturedStderr();
        EXPECT_TRUE(reloaded) << reloaded.error().message;
        EXPECT_THAT(log, Not(HasSubstr("next start")));
        EXPECT_THAT(log, Not(HasSubstr("nothing that counts at once")));
    }
    const config::GatewayConfig defaults;
    for (const ConfigKey& key : Gateway::config_keys()) {
        if (key.effect == KeyEffect::kRestart || key.name == "gateway.log") continue;
        EXPECT_TRUE(key.differs(defaults, config)) << key.name << " was not changed above";
    }
}

/// A key that a reload applies is prepared by the component that declares it, and not only told.
TEST_F(GatewayTest, WhoDeclaresAKeyOfAReloadHasAChangeForIt) {
    GatewayComponents components(config, paths(), no_reload, {}, {});
    runtime::Lifecycle lifecycle(components.clock, components.all.in_order());
    ASSERT_TRUE(lifecycle.start());
    std::size_t declared = 0;
    for (const Change& change : kReloadChanges) {
        const config::GatewayConfig before = config;
        change(config);
        for (Component* const component : components.all.in_order()) {
            for (const ConfigKey& key : component->keys()) {
                if (!key.differs(before, config)) continue;
                SCOPED_TRACE(key.name);
                EXPECT_EQ(key.effect, KeyEffect::kReload);
                const auto prepared = component->prepare(config);
                ASSERT_TRUE(prepared) << prepared.error().message;
                EXPECT_TRUE(*prepared) << component->name() << " has nothing to apply";
                declared += 1;
            }
        }
    }
    EXPECT_EQ(declared, std::size(kReloadChanges)) << "each change is of one key";
}

/// Notes what the components are given to reload.
class ReloadRecorder final : public Component {
public:
    std::string_view name() const override { return "recorder"; }
    Result<void> start() override { return {}; }
    Result<Change> prepare(const config::GatewayConfig& next) override {
        seen = next;
        return Change();
    }
    std::optional<config::GatewayConfig> seen;
};

TEST_F(GatewayTest, NoComponentSeesAKeyThatWaitsForARestart) {
    GatewayComponents components(config, paths(), no_reload, {}, {});
    ReloadRecorder& recorder = components.all.add<ReloadRecorder>();
    runtime::Lifecycle lifecycle(components.clock, components.all.in_order());
    ASSERT_TRUE(lifecycle.start());
    const std::vector<ConfigKey> keys = components.all.keys();
    for (const Change& change : kRestartChanges) {
        config::GatewayConfig next = config;
        change(next);
        const ConfigChanges told = config_changes(keys, config, next);
        EXPECT_TRUE(told.now.empty());
        ASSERT_EQ(told.at_next_start.size(), 1U) << &change - std::begin(kRestartChanges);
        SCOPED_TRACE(told.at_next_start.front());
        ASSERT_TRUE(reload_components(lifecycle, keys, config, next));
        EXPECT_TRUE(recorder.seen == config);
    }
    config::GatewayConfig all = config;
    for (const Change& change : kRestartChanges) change(all);
    for (const ConfigKey& key : keys) {
        EXPECT_EQ(key.differs(config, all), key.effect == KeyEffect::kRestart)
            << key.name << " is not in the table above";
    }
}

}  // namespace
}  // namespace crab::gateway
