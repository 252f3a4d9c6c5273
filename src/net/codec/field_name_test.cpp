#include "net/codec/field_name.hpp"

#include <gtest/gtest.h>

#include <string>

namespace crab::net {
namespace {

TEST(FieldName, LettersOfEachCaseAreTheSameAndNoOtherBytes) {
    for (const std::string lower :
         {"", "te", "accept", "mcp-name", "x-forwarded-for", "a{z[m~q`k@"}) {
        std::string upper = lower;
        for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 0x20) : c;
        EXPECT_TRUE(is_field(upper, lower)) << lower;
        for (std::size_t at = 0; at < lower.size(); ++at) {
            for (int byte = 0; byte < 256; ++byte) {
                std::string name = upper;
                name[at] = static_cast<char>(byte);
                EXPECT_EQ(is_field(name, lower), equals_lower(name, lower)) << lower << ' ' << byte;
            }
        }
        EXPECT_FALSE(is_field(upper + "x", lower));
    }
}

}  // namespace
}  // namespace crab::net
