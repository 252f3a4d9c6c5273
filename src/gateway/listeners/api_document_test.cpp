#include "gateway/listeners/api_document.hpp"

#include "base/process/test_folder.hpp"
#include "gateway/gateway.hpp"
#include "json/value.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace crab::gateway {
namespace {

using json::Value;

/// The documents of a gateway with all listeners, by the names of their files in spec/.
class ApiDocumentTest : public testing::Test {
protected:
    ApiDocumentTest() {
        config::GatewayConfig config;
        config.gateway.threads = 1;
        config.listen.public_address = config::HostPort{"127.0.0.1", 0};
        config.listen.peers = config::HostPort{"127.0.0.1", 0};
        const auto gateway = Gateway::start(
            config, {.state_dir = folder / "state", .admin_socket = folder / "admin.sock"},
            [config] { return Result<config::GatewayConfig>(config); });
        EXPECT_TRUE(gateway) << gateway.error().message;
        if (!gateway) return;
        Gateway::ApiDocuments made = (*gateway)->api_documents();
        documents = {{"openapi.json", std::move(made.public_listener)},
                     {"openapi.admin.json", std::move(made.admin)},
                     {"openapi.peers.json", std::move(made.peers)}};
    }

    TestFolder folder;
    std::vector<std::pair<std::string, std::string>> documents;
};

Value parsed(const std::string& text) {
    auto value = Value::parse(text);
    EXPECT_TRUE(value) << value.error().message;
    return value ? std::move(*value) : Value();
}

/// `scripts/gen_http_docs.py` has this test write the documents into a folder instead.
TEST_F(ApiDocumentTest, TheDocumentsInSpecAreWhatTheRouteTablesMake) {
    const char* const folder_to_write = std::getenv("CRAB_WRITE_API_DOCUMENTS");
    for (const auto& [name, text] : documents) {
        if (folder_to_write != nullptr) {
            std::ofstream(std::string(folder_to_write) + "/" + name) << text;
            continue;
        }
        std::ifstream file(std::string(CRAB_SOURCE_DIR "/spec/") + name);
        const std::string committed{std::istreambuf_iterator<char>(file), {}};
        EXPECT_TRUE(parsed(committed) == parsed(text))
            << "spec/" << name << " is stale; run scripts/gen_http_docs.py";
    }
}

TEST_F(ApiDocumentTest, EveryRouteSaysWhatItIsForAndWhatItAnswers) {
    for (const auto& [name, text] : documents) {
        const Value document = parsed(text);
        std::set<std::string> ids;
        for (const auto& [path, methods] : *document.find("paths")->as_object()) {
            for (const auto& [method, operation] : *methods.as_object()) {
                SCOPED_TRACE(name + ": " + method + " " + path);
                EXPECT_NE(*operation.find("summary")->as_string(), "");
                EXPECT_TRUE(ids.insert(*operation.find("operationId")->as_string()).second);
                const auto& responses = *operation.find("responses")->as_object();
                EXPECT_LT(responses.front().first, "400") << "what it answers when all is well";
                for (const auto& [status, response] : responses) {
                    const Value* const json = response.resolve("/content/application~1json");
                    EXPECT_TRUE(json == nullptr || json->find("schema") != nullptr) << status;
                }
            }
        }
    }
}

/// What a thief of a session of the console would do (console/door/session_rights.hpp).
TEST_F(ApiDocumentTest, WhatDoesLastingHarmNeedsAFreshProofOfWhoeverIsSignedIn) {
    const Value admin = parsed(documents.at(1).second);
    const auto proof_for = [&](std::string_view method, std::string_view path) {
        const Value* const routes = admin.find("paths")->find(path);
        const Value* const route = routes != nullptr ? routes->find(method) : nullptr;
        const Value* const proof = route != nullptr ? route->find("x-fresh-proof") : nullptr;
        return proof != nullptr ? *proof->as_string() : std::string("no such route");
    };
    for (const auto& [method, path] : {std::pair{"post", "/v1/admin/reload"},
                                       {"patch", "/v1/admin/log"},
                                       {"post", "/v1/admin/devices/revoke"},
                                       {"post", "/v1/peers/{component_type}/{component_id}/revoke"},
                                       {"patch", "/v1/peers/{component_type}/{component_id}"},
                                       {"delete", "/v1/leases/{lease_id}"},
                                       {"post", "/v1/pairings"},
                                       {"post", "/v1/mcp/servers"},
                                       {"put", "/v1/mcp/servers/{name}"},
                                       {"post", "/v1/mcp/servers/{name}/approve"},
                                       {"post", "/v1/admin/push/subscriptions"}})
        EXPECT_EQ(proof_for(method, path), "always") << method << path;
    EXPECT_EQ(proof_for("post", "/v1/admin/devices/pair"), "operators");
    EXPECT_EQ(proof_for("post", "/v1/admin/approvals/{id}"), "lasting");
    EXPECT_EQ(proof_for("post", "/v1/tools/call"), "never");
}

/// `/console/api/` needs a session; the credential is a cookie and a key that only its page has.
TEST_F(ApiDocumentTest, RoutesForSessionsOfTheConsoleSaySo) {
    const Value open = parsed(documents.at(0).second);
    for (const char* const path : {"/console/api/{path}", "/console/session"}) {
        const Value* const get = open.find("paths")->find(path)->find("get");
        EXPECT_EQ(*get->find("x-who")->as_string(), "session") << path;
        EXPECT_NE(get->resolve("/security/0/session"), nullptr) << path;
        EXPECT_NE(get->resolve("/security/0/session_key"), nullptr) << path;
    }
    EXPECT_EQ(*open.resolve("/components/securitySchemes/session/in")->as_string(), "cookie");
}

}  // namespace
}  // namespace crab::gateway
