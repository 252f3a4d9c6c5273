#include "base/percent.hpp"

#include <gtest/gtest.h>

namespace crab {
namespace {

using namespace std::string_view_literals;

TEST(Percent, BytesAreDecodedAndThePlusStays) {
    EXPECT_EQ(percent_decode("a%2Db+c%C3%a9"), "a-b+c\xc3\xa9");
    EXPECT_EQ(percent_decode("%00"), "\0"sv);
    EXPECT_EQ(percent_decode(""), "");
}

TEST(Percent, WhatIsNotEncodedProperlyIsRefused) {
    for (const std::string_view bad : {"%", "a%2", "%zz", "%2", "%%41", "%-1"})
        EXPECT_EQ(percent_decode(bad), std::nullopt) << bad;
}

TEST(Percent, OneByteIsReadFromTheFront) {
    EXPECT_EQ(percent_byte("%41%42"), 'A');
    EXPECT_EQ(percent_byte("%ff"), 0xff);
    for (const std::string_view none : {"", "A", "A%41", "%4", "%4g"})
        EXPECT_EQ(percent_byte(none), -1) << none;
}

}  // namespace
}  // namespace crab
