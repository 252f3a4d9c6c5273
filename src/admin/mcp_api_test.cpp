#include "admin/mcp_api.hpp"

#include "net/http/routed_service.hpp"
#include "net/http/test_support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>

#include <fmt/format.h>

namespace crab::admin {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Listener final : public net::RoutedService<core::PrincipalRef> {
public:
    Task<void> serve(net::HttpExchange& exchange) override {
        const core::PrincipalRef nobody;
        co_await routes_.answer(exchange, nobody);
    }
};

class FakeConfigs final : public McpServerConfigs {
public:
    std::vector<KnownMcpServer> known() override {
        const std::scoped_lock lock(mutex);
        std::vector<KnownMcpServer> all;
        for (const auto& [name, server] : servers) all.push_back(server);
        return all;
    }
    Result<void> put(std::string_view name, json::Value server, std::string_view origin,
                     Put how) override {
        const std::scoped_lock lock(mutex);
        const bool there = servers.contains(std::string(name));
        if (there && how == Put::kNew) return fail(ErrorCode::kConflict, "it is there");
        if (!there && how == Put::kReplace) return fail(ErrorCode::kNotFound, "it is not there");
        KnownMcpServer known{.name = std::string(name), .origin = std::string(origin)};
        if (const json::Value* const url = server.find("url")) known.url = *url->as_string();
        servers[known.name] = known;
        return {};
    }
    Result<void> remove(std::string_view name) override {
        const std::scoped_lock lock(mutex);
        if (servers.erase(std::string(name)) == 0)
            return fail(ErrorCode::kNotFound, "it is not there");
        return {};
    }
    std::mutex mutex;
    std::map<std::string, KnownMcpServer> servers;
};

class FakeControl final : public McpServersControl {
public:
    explicit FakeControl(BlockingPool& pool) : pool_(pool) {}

    std::vector<McpServerState> states() override {
        McpServerState state{.name = "files", .state = "ready", .version = "2025-11-25"};
        state.tools = 3;
        state.held = 1;
        state.removed = 2;
        state.left_out = {{"odd", "its schema does not compile"}};
        state.off_schema = 4;
        state.off_schema_tool = "count";
        state.dropped = 5;
        state.stderr_tail = "listening";
        return {state};
    }
    Result<std::vector<McpChange>> diff(std::string_view server) override {
        return std::vector<McpChange>{{.kind = "tool",
                                       .name = "read",
                                       .why = "changed",
                                       .before = R"({"name":"read"})",
                                       .after = fmt::format(R"({{"of":"{}"}})", server),
                                       .digest = "d1"}};
    }
    /// As the true one, it waits for the pool.
    Task<Result<std::vector<std::string>>> approve(std::string server,
                                                   std::vector<McpApproval> entries) override {
        co_await pool_.run([] { return 0; });
        std::vector<std::string> names;
        for (const McpApproval& each : entries) {
            if (each.digest != "d1") co_return fail(ErrorCode::kConflict, "look again");
            names.push_back(each.name);
        }
        approved += server;
        co_return names;
    }
    Result<McpLoginBegun> begin_login(std::string_view server, std::string_view principal,
                                      std::string_view redirect_uri) override {
        if (redirect_uri.empty()) return fail(ErrorCode::kInvalidArgs, "no address");
        return McpLoginBegun{.id = "l1", .url = fmt::format("https://as/{}/{}", server, principal)};
    }
    Result<void> finish_login(std::string_view, std::string_view login,
                              std::string_view redirected) override {
        if (login != "l1") return fail(ErrorCode::kNotFound, "no such login");
        if (redirected.empty()) return fail(ErrorCode::kAuthRequired, "not logged in");
        return {};
    }
    Result<void> logout(std::string_view, std::string_view principal) override {
        if (principal != "caller/ann") return fail(ErrorCode::kNotFound, "no such login");
        return {};
    }
    std::string approved;

private:
    BlockingPool& pool_;
};

struct McpApiTest : testing::Test {
    RealClock clock;
    BlockingPool pool{1};
    FakeConfigs configs;
    FakeControl control{pool};
    std::atomic<McpServersControl*> running = &control;
    McpApi api{{.configs = configs, .control = [this] { return running.load(); }, .pool = pool}};
    Listener listener;
    std::unique_ptr<net::test::ServerThread> server;

    McpApiTest() {
        api.add_routes(listener.routes());
        server = std::make_unique<net::test::ServerThread>(clock, listener);
        configs.servers["files"] = {.name = "files", .argv = {"npx", "-y", "files"}};
    }
    std::string send(std::string_view method, std::string_view path, std::string_view body = {}) {
        net::test::RawClient client(server->endpoint());
        client.send(
            fmt::format("{} /v1/mcp/servers{} HTTP/1.1\r\nHost: h\r\nContent-Type: "
                        "application/json\r\nContent-Length: {}\r\n\r\n{}",
                        method, path, body.size(), body));
        return client.read_response();
    }
    /// `status` begins the answer, and its body has the rest.
    static auto is(int status, const std::string& text) {
        return AllOf(testing::StartsWith(fmt::format("HTTP/1.1 {}", status)), HasSubstr(text));
    }
};

TEST_F(McpApiTest, ServersAreListedWithHowTheyDo) {
    configs.servers["off"] = {.name = "off", .url = "https://x", .enabled = false};
    configs.servers["bad"] = {.name = "bad", .url = "https://x", .problem = "no key"};
    const std::string all = send("GET", "");
    EXPECT_THAT(all, AllOf(HasSubstr(R"("argv":["npx","-y","files"])"),
                           HasSubstr(R"("state":"ready","version":"2025-11-25")"),
                           HasSubstr(R"("reason":"its schema does not compile")"),
                           HasSubstr(R"("held":1,"removed":2)"),
                           HasSubstr(R"("off_schema":4,"off_schema_tool":"count","dropped":5)"),
                           HasSubstr(R"("stderr":"listening")")));
    EXPECT_THAT(all, AllOf(HasSubstr(R"("state":"disabled")"), HasSubstr(R"("error":"no key")")));
    running = nullptr;
    EXPECT_THAT(send("GET", ""), AllOf(is(200, R"("state":"stopped")"), Not(HasSubstr("ready"))));
}

TEST_F(McpApiTest, ServersAreAddedReplacedAndRemoved) {
    const auto body = [](std::string_view name, std::string_view url) {
        return fmt::format(R"({{"name":"{}","server":{{"url":"{}"}},"origin":"t"}})", name, url);
    };
    EXPECT_THAT(send("POST", "", body("hub", "https://a")), is(200, R"({"name":"hub"})"));
    EXPECT_THAT(send("POST", "", body("hub", "https://b")), is(409, "it is there"));
    EXPECT_THAT(send("PUT", "/hub", body("", "https://b")), is(200, "hub"));
    EXPECT_EQ(configs.servers["hub"].url, "https://b");
    EXPECT_THAT(send("PUT", "/none", body("", "https://b")), is(404, "not there"));
    for (const char* wrong : {"", "[]", "{", R"({"name":"x"})", R"({"name":"x","server":1})"})
        EXPECT_THAT(send("POST", "", wrong), is(400, "INVALID_ARGS")) << wrong;
    EXPECT_THAT(send("DELETE", "/hub"), is(200, "hub"));
    EXPECT_THAT(send("DELETE", "/hub"), is(404, "not there"));
}

TEST_F(McpApiTest, NothingIsApprovedThatWasNotShown) {
    const std::string diff = send("GET", "/files/diff");
    EXPECT_THAT(diff, is(200, R"("kind":"tool","name":"read","why":"changed")"));
    EXPECT_THAT(diff, HasSubstr(R"("digest":"d1")"));
    for (const char* blind :
         {"", "{}", R"({"names":["read"]})", R"({"entries":[]})", R"({"entries":["read"]})",
          R"({"entries":[{"kind":"tool","name":"read"}]})",
          R"({"entries":[{"kind":"tool","name":"read","digest":"d1"},{"name":"x"}]})"})
        EXPECT_THAT(send("POST", "/files/approve", blind), is(400, "INVALID_ARGS")) << blind;
    const auto of = [](std::string_view digest) {
        return fmt::format(R"({{"entries":[{{"kind":"tool","name":"read","digest":"{}"}}]}})",
                           digest);
    };
    EXPECT_THAT(send("POST", "/files/approve", of("d0")), is(409, "look again"));
    EXPECT_EQ(control.approved, "");
    EXPECT_THAT(send("POST", "/files/approve", of("d1")), is(200, R"({"approved":["read"]})"));
    EXPECT_THAT(send("POST", "/none/approve", of("d1")), is(404, "no such MCP server"));
    EXPECT_THAT(send("GET", "/none/diff"), is(404, "no such MCP server"));
    running = nullptr;
    EXPECT_THAT(send("POST", "/files/approve", of("d1")), is(503, "no MCP servers run"));
}

TEST_F(McpApiTest, ApprovalsDoNotWaitForEachOther) {
    std::vector<std::unique_ptr<net::test::RawClient>> clients;
    const std::string body = R"({"entries":[{"kind":"tool","name":"read","digest":"d1"}]})";
    for (int i = 0; i < 24; ++i) {
        clients.push_back(std::make_unique<net::test::RawClient>(server->endpoint()));
        clients.back()->send(
            fmt::format("POST /v1/mcp/servers/files/approve HTTP/1.1\r\nHost: "
                        "h\r\nContent-Length: {}\r\n\r\n{}",
                        body.size(), body));
    }
    for (const auto& client : clients)
        EXPECT_THAT(client->read_response(), is(200, "approved")) << "the pool has one thread";
}

TEST_F(McpApiTest, LoginsBeginEndAndAreForgotten) {
    EXPECT_THAT(send("POST", "/files/login",
                     R"({"principal":"caller/ann","redirect_uri":"http://127.0.0.1:1/"})"),
                is(200, R"({"login":"l1","url":"https://as/files/caller/ann"})"));
    EXPECT_THAT(send("POST", "/files/login", "{}"), is(400, "no address"));
    EXPECT_THAT(send("POST", "/files/login/l1", R"({"redirected":"http://127.0.0.1:1/?code=c"})"),
                is(200, "files"));
    EXPECT_THAT(send("POST", "/files/login/l2", R"({"redirected":"x"})"), is(404, "no such login"));
    EXPECT_THAT(send("DELETE", "/files/login?principal=caller%2Fann"), is(200, "files"));
    EXPECT_THAT(send("DELETE", "/files/login"), is(404, "no such login"));
    EXPECT_THAT(send("POST", "/none/login", "{}"), is(404, "no such MCP server"));
    running = nullptr;
    EXPECT_THAT(send("POST", "/files/login", "{}"), is(503, "no MCP servers run"));
}

}  // namespace
}  // namespace crab::admin
