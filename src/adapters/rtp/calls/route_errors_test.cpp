#include "adapters/rtp/calls/route_errors.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

namespace crab::rtp {
namespace {

class Refusal : public testing::Test {
protected:
    Refusal() {
        routes.add(
            {.method = net::Method::kPost, .path = "/v1/tools/call", .errors = append_call_error});
    }
    /// Empty: not a path of the protocol.
    std::string of(std::string_view path, int status = 413) {
        net::HttpRequest request;
        request.head.method = "POST";
        request.head.path = path;
        request.match = routes.find("POST", path);
        std::string body;
        return append_refusal(routes, &request, status, "too much", body) ? body : std::string();
    }
    net::RouteTable routes{"/crab"};
};

TEST_F(Refusal, HasTheFormOfTheRoute) {
    EXPECT_TRUE(of("/crab/v1/tools/call").starts_with(R"({"version":"v1","call_id":"")"));
}

TEST_F(Refusal, PromisesThatNothingWasRunOnlyWhereThatIsSo) {
    const auto says = [&](int status, std::string_view status_word, std::string_view code) {
        const std::string body = of("/crab/v1/tools/call", status);
        return body.contains(fmt::format(R"("status":"{}")", status_word)) &&
               body.contains(fmt::format(R"("code":"{}")", code));
    };
    EXPECT_TRUE(says(503, "retryable_error", "DEPENDENCY_UNAVAILABLE"));
    EXPECT_TRUE(says(429, "retryable_error", "RATE_LIMITED"));
    EXPECT_TRUE(says(500, "error", "INTERNAL")) << "it stands for an answer that is missing";
    for (const int status : {400, 408, 413, 414, 417, 431, 501, 505})
        EXPECT_TRUE(says(status, "error", "INVALID_ARGS")) << status;
}

TEST_F(Refusal, HasTheProtocolsFormWhereNoRouteIs) {
    EXPECT_EQ(of("/crab/v1/nothing"), R"({"error":"too much","code":"INVALID_ARGS"})");
}

TEST_F(Refusal, IsLeftToOthersOutsideOfTheProtocol) {
    for (const std::string_view path : {"/crab/api/tools", "/v1/tools/call", "/crabv1/a", "/"})
        EXPECT_EQ(of(path), "") << path;
    std::string body;
    EXPECT_FALSE(append_refusal(routes, nullptr, 413, "too much", body));
    EXPECT_EQ(body, "");
}

}  // namespace
}  // namespace crab::rtp
