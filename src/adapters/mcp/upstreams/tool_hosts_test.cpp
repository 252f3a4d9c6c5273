#include "adapters/mcp/upstreams/tool_hosts.hpp"

#include "core/pipeline/test_host_pipeline.hpp"
#include "json/schema/schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// An upstream that speaks what the test says, and gives its answer to everything.
class FakeCalls final : public UpstreamCalls {
public:
    explicit FakeCalls(TestLoop& loop) : home_(loop.executor()) {}
    const std::string& source() const override { return source_; }
    const Executor& home() const override { return home_; }
    Task<Result<CallReply>> send(UpstreamCall call) override {
        if (spoken) *call.spoken = *spoken;
        if (!answer) co_return fail(answer.error());
        co_return CallReply{.reply = *answer, .era = Era::kModern};
    }

    void note_off_schema(const std::string& tool, std::string_view) override {
        off_schema.push_back(tool);
    }

    std::vector<std::string> off_schema;
    std::optional<Revision> spoken = Revision::k2026_07_28;
    Result<std::string> answer = R"({"content":[]})";

private:
    const std::string source_ = "files";
    const Executor home_;
};

struct McpToolHosts : testing::Test {
    core::TestHostPipeline gateway;
    std::shared_ptr<FakeCalls> calls = std::make_shared<FakeCalls>(gateway.loop);
    core::PrincipalRef ann = core::principal_of("caller/ann");

    void serve(const std::shared_ptr<core::ToolHost>& host) {
        core::ToolSpec spec;
        spec.name = "read";
        spec.input_schema = R"({"type":"object"})";
        std::vector<core::ToolSpec> specs;
        specs.push_back(std::move(spec));
        gateway.serve(std::move(specs), host, {});
    }
    /// Calls it, and tells what the record of that says.
    std::string record() {
        core::Call call;
        call.tool = "read";
        core::FrameSink sink;
        const core::AuthenticatedCall authenticated(call, ann);
        gateway.loop.run(gateway.pipeline->run(authenticated, sink));
        gateway.audit.flush_and_wait();
        return gateway.audit_store->records().back();
    }
};

TEST_F(McpToolHosts, TheRecordOfACallNamesTheUpstreamsToolAndWhatItSpeaks) {
    UpstreamTool tool{.name = "read \"file\"", .params = {}, .output = {}};
    serve(std::make_shared<UpstreamToolHost>(calls, std::move(tool)));
    EXPECT_THAT(record(), AllOf(HasSubstr(R"("status":"ok")"),
                                HasSubstr(R"("upstream":{"tool":"read \"file\"",)"
                                          R"("revision":"2026-07-28","era":"modern"})")));
    calls->spoken = Revision::k2025_03_26;
    calls->answer = fail(ErrorCode::kTimeout, "late");
    EXPECT_THAT(record(), AllOf(HasSubstr(R"("code":"TIMEOUT")"),
                                HasSubstr(R"("revision":"2025-03-26","era":"legacy"})")))
        << "also of one that has failed there";
    calls->spoken.reset();
    EXPECT_THAT(record(), HasSubstr(R"("upstream":{"tool":"read \"file\""})")) << "not reached";
}

TEST_F(McpToolHosts, ResultsThatBreakTheSchemaAndPassAreNoted) {
    UpstreamTool tool{.name = "read", .params = {}, .output = {}};
    tool.output = json::Schema::compile(R"({"type":"object","required":["n"]})").value();
    serve(std::make_shared<UpstreamToolHost>(calls, std::move(tool)));
    EXPECT_THAT(record(), HasSubstr(R"("status":"ok")"));
    EXPECT_EQ(calls->off_schema, std::vector<std::string>{"read"});
    calls->answer = R"({"content":[],"structuredContent":{"n":1}})";
    EXPECT_THAT(record(), HasSubstr(R"("status":"ok")"));
    EXPECT_EQ(calls->off_schema.size(), 1u);
}

TEST_F(McpToolHosts, OfAMethodTheRecordNamesNothingThatItWasAskedFor) {
    serve(std::make_shared<UpstreamMethodHost>(calls, std::make_shared<HeldEntries>(),
                                               "resources/read", "uri"));
    EXPECT_THAT(record(), HasSubstr(R"("upstream":{"tool":"resources/read",)"));
}

TEST_F(McpToolHosts, WhatIsHeldBackGoesNowhere) {
    serve(std::make_shared<HeldBackHost>("files", HeldBack::Why::kNew));
    EXPECT_THAT(record(), Not(HasSubstr("upstream")));
}

}  // namespace
}  // namespace crab::mcp
