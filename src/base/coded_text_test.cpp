#include "base/coded_text.hpp"

#include <gtest/gtest.h>

namespace crab {
namespace {

TEST(CodedText, SaysTheCodeOnce) {
    EXPECT_EQ(coded_text("INVALID_ARGS", "no such room"), "INVALID_ARGS: no such room");
    EXPECT_EQ(coded_text("INVALID_ARGS", "INVALID_ARGS: no such room"),
              "INVALID_ARGS: no such room");
    EXPECT_EQ(coded_text("AUTH_REQUIRED", "[AUTH_REQUIRED] sign in"), "[AUTH_REQUIRED] sign in")
        << "as its author wrote it";
    EXPECT_EQ(coded_text("INVALID_ARGS", "INVALID_ARGS: INVALID_ARGS: x"), "INVALID_ARGS: x");
    EXPECT_EQ(coded_text("FORBIDDEN", "INVALID_ARGS: x"), "FORBIDDEN: INVALID_ARGS: x")
        << "another code is not ours to drop";
    EXPECT_EQ(coded_text("INVALID_ARGS", "INVALID_ARGS2: x"), "INVALID_ARGS: INVALID_ARGS2: x");
}

TEST(CodedText, LeavesNoEmptySentence) {
    EXPECT_EQ(coded_text("FORBIDDEN", ""), "FORBIDDEN");
    EXPECT_EQ(coded_text("FORBIDDEN", "FORBIDDEN: "), "FORBIDDEN");
    EXPECT_EQ(coded_text("", "what"), "what");
    EXPECT_EQ(coded_text("", ""), "");
}

}  // namespace
}  // namespace crab
