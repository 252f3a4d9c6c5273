#include "base/error_kind.hpp"

#include <gtest/gtest.h>

namespace crab {
namespace {

TEST(ErrorKindTest, SaysWhetherAnythingWasStartedAndWhoHasToAct) {
    for (const ErrorCode code : all_error_codes()) {
        const bool may_repeat = is_retryable(code);
        switch (kind_of(code)) {
            case ErrorKind::kUnavailable:
            case ErrorKind::kRateLimited:
                EXPECT_TRUE(may_repeat) << token_of(code) << " began nothing";
                break;
            case ErrorKind::kInvalid:
            case ErrorKind::kNotFound:
            case ErrorKind::kUnauthenticated:
            case ErrorKind::kRefused:
            case ErrorKind::kTimeout:
            case ErrorKind::kOutcomeUnknown:
                EXPECT_FALSE(may_repeat) << token_of(code) << " ends the same way or may have run";
                break;
            case ErrorKind::kConflict:
            case ErrorKind::kFailed: break;  // by the code
        }
    }
    EXPECT_EQ(kind_of(ErrorCode::kWallTimeout), kind_of(ErrorCode::kTimeout));
    EXPECT_EQ(kind_of(ErrorCode::kPairingRequired), ErrorKind::kUnauthenticated);
}

}  // namespace
}  // namespace crab
