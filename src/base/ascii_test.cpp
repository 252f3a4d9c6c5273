#include "base/ascii.hpp"

#include <gtest/gtest.h>

namespace crab {
namespace {

TEST(Ascii, TrimTakesBlanksFromBothEndsAndNoneFromInside) {
    EXPECT_EQ(trim(" \t a b\t "), "a b");
    EXPECT_EQ(trim("a"), "a");
    EXPECT_EQ(trim(" \t"), "");
    EXPECT_EQ(trim(""), "");
}

TEST(Ascii, TrimLeavesLineEndsUnlessToldThatTheyAreBlanks) {
    EXPECT_EQ(trim("\r\n a \n"), "\r\n a \n");
    EXPECT_EQ(trim("\r\n a \n", kWhiteSpace), "a");
}

}  // namespace
}  // namespace crab
