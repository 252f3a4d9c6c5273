#include "adapters/rtp/calls/artifacts_api.hpp"

#include "core/call/test_tools.hpp"
#include "net/http/test_support.hpp"

#include <gmock/gmock.h>

namespace crab::rtp {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Artifacts in memory. `broken`: their disk fails in the middle of reading.
class MemoryArtifacts final : public core::ArtifactStore {
public:
    class Bytes final : public core::ArtifactBytes {
    public:
        Bytes(core::Artifact artifact, std::string content, bool broken)
            : artifact_(std::move(artifact)), content_(std::move(content)), broken_(broken) {}
        const core::Artifact& artifact() const override { return artifact_; }
        Result<std::string> read(std::uint64_t offset, std::size_t most) override {
            if (broken_ && offset > 0) return fail(ErrorCode::kUnavailable, "the disk fails");
            return content_.substr(offset, most);
        }

    private:
        const core::Artifact artifact_;
        const std::string content_;
        const bool broken_;
    };

    void add(std::string id, std::string tenant, std::string content) {
        core::Artifact artifact;
        artifact.id = std::move(id);
        artifact.tenant = std::move(tenant);
        artifact.content_type = "image/jpeg";
        artifact.sha256 = std::string(64, 'a');
        artifact.bytes = content.size();
        kept.emplace_back(std::move(artifact), std::move(content));
    }

    Result<std::unique_ptr<core::ArtifactUpload>> begin(core::Artifact) override {
        return fail(ErrorCode::kUnavailable, "not here");
    }
    Result<std::unique_ptr<core::ArtifactBytes>> open(std::string_view id) override {
        if (down) return fail(ErrorCode::kUnavailable, "the disk fails");
        for (const auto& [artifact, content] : kept) {
            if (artifact.id == id) return std::make_unique<Bytes>(artifact, content, broken);
        }
        return fail(ErrorCode::kNotFound, "none");
    }
    Result<std::vector<core::Artifact>> list(std::string_view tenant) override {
        std::vector<core::Artifact> found;
        for (const auto& [artifact, content] : kept) {
            if (tenant.empty() || artifact.tenant == tenant) found.push_back(artifact);
        }
        return found;
    }
    Result<bool> remove(std::string_view id) override {
        return std::erase_if(kept, [&](const auto& each) { return each.first.id == id; }) > 0;
    }
    Result<std::size_t> forget_expired() override { return 0; }
    void set_limits(Limits) override {}
    Stats stats() const override { return {}; }

    std::vector<std::pair<core::Artifact, std::string>> kept;
    bool broken = false, down = false;
};

class Service final : public net::HttpService {
public:
    Task<void> serve(net::HttpExchange& exchange) override {
        co_await routes.answer(exchange, principal);
    }
    std::optional<net::Upgrade> upgrade(const net::HttpRequest&,
                                        const net::WebSocketOffer&) override {
        return std::nullopt;
    }

    net::Routes<core::PrincipalRef> routes;
    core::PrincipalRef principal;
};

const std::string kPhoto(32, 'b'), kForeign(32, 'c');

struct ArtifactsApiTest : testing::Test {
    const RealClock clock;
    FairPool pool{1};
    MemoryArtifacts store;
    std::vector<std::string> deleted;
    ArtifactsApi api{{.store = store,
                      .pool = pool,
                      .on_deleted = [this](std::string_view id, const core::Principal& by) {
                          deleted.push_back(std::string(id) + " by " + by.id);
                      }}};
    Service service;
    std::unique_ptr<net::test::ServerThread> server;

    ArtifactsApiTest() {
        store.add(kPhoto, "acme", "0123456789");
        store.add(kForeign, "other", "secret");
        api.add_routes(service.routes);
        service.principal = core::principal_of("caller/ann", {core::Role::kCaller}, "acme");
        server = std::make_unique<net::test::ServerThread>(clock, service);
    }
    void be(core::PrincipalRef principal) {
        server->thread.run([&] { service.principal = std::move(principal); });
    }
    void be_operator() { be(core::principal_of("local/0", {core::Role::kOperator})); }
    std::string ask(std::string_view head, std::string_view fields = {}) {
        net::test::RawClient client(server->endpoint());
        client.send(
            fmt::format("{} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{}\r\n", head, fields));
        return client.read_to_end();
    }
    std::string get(std::string_view fields = {}) {
        return ask("GET /v1/artifacts/" + kPhoto, fields);
    }
    static std::string body_of(const std::string& response) {
        return response.substr(response.find("\r\n\r\n") + 4);
    }
};

TEST_F(ArtifactsApiTest, AWholeArtifactComesWithItsTypeAndNeverAsAPage) {
    const std::string response = get();
    EXPECT_THAT(response, StartsWith("HTTP/1.1 200 "));
    for (const char* field : {"Content-Type: image/jpeg\r\n", "Content-Length: 10\r\n",
                              "Accept-Ranges: bytes\r\n", "X-Content-Type-Options: nosniff\r\n",
                              "Content-Security-Policy: sandbox; default-src 'none'\r\n",
                              "Content-Disposition: attachment\r\n"}) {
        EXPECT_THAT(response, HasSubstr(field));
    }
    EXPECT_EQ(body_of(response), "0123456789");
    EXPECT_EQ(api.downloads(), 1u);
}

TEST_F(ArtifactsApiTest, OneRangeIsServed) {
    for (const auto& [range, part, body] : {std::tuple{"bytes=2-4", "bytes 2-4/10", "234"},
                                            {"bytes=7-", "bytes 7-9/10", "789"},
                                            {"bytes=-3", "bytes 7-9/10", "789"},
                                            {"bytes=8-99", "bytes 8-9/10", "89"}}) {
        const std::string response = get(fmt::format("Range: {}\r\n", range));
        EXPECT_THAT(response, StartsWith("HTTP/1.1 206 ")) << range;
        EXPECT_THAT(response, HasSubstr(fmt::format("Content-Range: {}\r\n", part)));
        EXPECT_EQ(body_of(response), body);
    }
}

TEST_F(ArtifactsApiTest, WhatCannotBeServedAsOneRangeIsServedWholeOrRefused) {
    EXPECT_THAT(get("Range: bytes=10-\r\n"), StartsWith("HTTP/1.1 416 "));
    EXPECT_THAT(get("Range: bytes=10-\r\n"), HasSubstr("Content-Range: bytes */10\r\n"));
    EXPECT_EQ(body_of(get("Range: bytes=0-1,4-5\r\n")), "0123456789");
    EXPECT_EQ(body_of(get("Range: lines=1-2\r\n")), "0123456789");
}

TEST_F(ArtifactsApiTest, ConditionsKnowTheHash) {
    const std::string tag = fmt::format("\"{}\"", std::string(64, 'a'));
    EXPECT_THAT(get(fmt::format("If-None-Match: {}\r\n", tag)), StartsWith("HTTP/1.1 304 "));
    EXPECT_THAT(get("If-None-Match: \"other\"\r\n"), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(get(fmt::format("Range: bytes=0-1\r\nIf-Range: {}\r\n", tag)),
                StartsWith("HTTP/1.1 206 "));
    EXPECT_THAT(get("Range: bytes=0-1\r\nIf-Range: \"other\"\r\n"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(ArtifactsApiTest, HeadSaysTheSameWithoutTheBytes) {
    const std::string response = ask("HEAD /v1/artifacts/" + kPhoto);
    EXPECT_THAT(response, HasSubstr("Content-Length: 10\r\n"));
    EXPECT_EQ(body_of(response), "");
}

TEST_F(ArtifactsApiTest, ThoseOfAnotherTenantAreAsUnknownAsNone) {
    const std::string foreign = ask("GET /v1/artifacts/" + kForeign),
                      none = ask("GET /v1/artifacts/" + std::string(32, 'd'));
    EXPECT_THAT(foreign, StartsWith("HTTP/1.1 404 "));
    EXPECT_EQ(body_of(foreign), body_of(none));
    EXPECT_THAT(ask("GET /v1/artifacts?tenant_id=other"), StartsWith("HTTP/1.1 403 "));
    const std::string listed = ask("GET /v1/artifacts");
    EXPECT_THAT(listed, HasSubstr(kPhoto));
    EXPECT_THAT(listed, Not(HasSubstr(kForeign)));
}

TEST_F(ArtifactsApiTest, AnOperatorSeesAndDeletesAll) {
    be_operator();
    EXPECT_THAT(ask("GET /v1/artifacts"), testing::AllOf(HasSubstr(kPhoto), HasSubstr(kForeign)));
    EXPECT_EQ(body_of(ask("GET /v1/artifacts/" + kForeign)), "secret");
    EXPECT_THAT(ask("DELETE /v1/artifacts/" + kForeign), StartsWith("HTTP/1.1 200 "));
    EXPECT_THAT(server->thread.run([&] { return deleted; }),
                testing::ElementsAre(kForeign + " by local/0"));
    EXPECT_THAT(ask("DELETE /v1/artifacts/" + kForeign), StartsWith("HTTP/1.1 404 "));
}

TEST_F(ArtifactsApiTest, CallersDeleteNothingAndDevicesReadNothing) {
    EXPECT_THAT(ask("DELETE /v1/artifacts/" + kPhoto), StartsWith("HTTP/1.1 403 "));
    be(core::principal_of("device/phone", {core::Role::kDevice}, "acme"));
    EXPECT_THAT(get(), StartsWith("HTTP/1.1 404 "));
    EXPECT_THAT(ask("GET /v1/artifacts"), StartsWith("HTTP/1.1 403 "));
}

TEST_F(ArtifactsApiTest, OtherMethodsAreToldWhatIsAllowed) {
    EXPECT_THAT(ask("POST /v1/artifacts"),
                testing::AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: GET, HEAD\r\n")));
    EXPECT_THAT(
        ask("PUT /v1/artifacts/" + kPhoto),
        testing::AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: GET, HEAD, DELETE\r\n")));
}

TEST_F(ArtifactsApiTest, ADiskThatFailsIsSaidAndOneThatFailsInTheMiddleBreaksTheBody) {
    server->thread.run([&] { store.down = true; });
    EXPECT_THAT(get(), StartsWith("HTTP/1.1 503 "));
    server->thread.run([&] {
        store.down = false;
        store.broken = true;
        store.kept.front().second = std::string(300'000, 'x');
        store.kept.front().first.bytes = 300'000;
    });
    const std::string response = get();
    EXPECT_THAT(response, HasSubstr("Content-Length: 300000\r\n"));
    EXPECT_LT(body_of(response).size(), 300'000u) << "what is not whole must not look whole";
}

}  // namespace
}  // namespace crab::rtp
