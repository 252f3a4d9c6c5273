#include "adapters/sw4rm/error_form.hpp"

#include "json/value.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

namespace crab::sw4rm {
namespace {

const std::map<std::string, net::GrpcStatus, std::less<>> kNames{
    {"CANCELLED", net::GrpcStatus::kCancelled},
    {"UNKNOWN", net::GrpcStatus::kUnknown},
    {"INVALID_ARGUMENT", net::GrpcStatus::kInvalidArgument},
    {"DEADLINE_EXCEEDED", net::GrpcStatus::kDeadlineExceeded},
    {"NOT_FOUND", net::GrpcStatus::kNotFound},
    {"ALREADY_EXISTS", net::GrpcStatus::kAlreadyExists},
    {"PERMISSION_DENIED", net::GrpcStatus::kPermissionDenied},
    {"RESOURCE_EXHAUSTED", net::GrpcStatus::kResourceExhausted},
    {"FAILED_PRECONDITION", net::GrpcStatus::kFailedPrecondition},
    {"ABORTED", net::GrpcStatus::kAborted},
    {"INTERNAL", net::GrpcStatus::kInternal},
    {"UNAVAILABLE", net::GrpcStatus::kUnavailable},
    {"UNAUTHENTICATED", net::GrpcStatus::kUnauthenticated}};

TEST(ErrorForm, EveryCodeHasTheStatusThatTheListOfErrorsNames) {
    std::ifstream file(CRAB_SOURCE_DIR "/spec/errors.json");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto spec = json::Value::parse(text);
    ASSERT_TRUE(spec);
    std::map<std::string, std::string, std::less<>> wanted;
    for (const json::Value& code : *spec->find("codes")->as_array())
        wanted[*code.find("token")->as_string()] = *code.find("grpc")->as_string();
    for (const ErrorCode code : all_error_codes()) {
        const auto name = wanted.find(token_of(code));
        ASSERT_NE(name, wanted.end()) << token_of(code);
        ASSERT_TRUE(kNames.contains(name->second)) << name->second;
        EXPECT_EQ(form_of(code).status, kNames.find(name->second)->second) << token_of(code);
        EXPECT_FALSE(form_of(code).token.empty());
    }
}

TEST(ErrorForm, AToolsOwnWordDecidesWhetherItsFailureMayBeRepeated) {
    Error failed{.code = ErrorCode::kToolFailed,
                 .message = "no",
                 .details = {},
                 .retryable = true,
                 .retry_after = {}};
    EXPECT_TRUE(form_of(failed).retry_able);
    failed.retryable = false;
    EXPECT_FALSE(form_of(failed).retry_able);
    EXPECT_FALSE(form_of(ErrorCode::kOutcomeUnknown).retry_able);
    EXPECT_TRUE(form_of(ErrorCode::kRateLimited).retry_able);
}

}  // namespace
}  // namespace crab::sw4rm
