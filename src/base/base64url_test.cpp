#include "base/base64url.hpp"

#include <gtest/gtest.h>

namespace crab {
namespace {

TEST(Base64Url, EveryLengthReadsBack) {
    for (const std::string_view bytes : {"", "f", "fo", "foo", "foob", "\xff\xfe\xfd\xfb"}) {
        const std::string text = to_base64url(bytes);
        EXPECT_EQ(text.find_first_of("+/="), std::string::npos) << text;
        EXPECT_EQ(from_base64url(text), bytes);
    }
    EXPECT_EQ(to_base64url("\xfb\xff\xfe"), "-__-");
    EXPECT_EQ(to_base64url("f"), "Zg");
}

TEST(Base64Url, AnyOtherFormIsRefused) {
    for (const std::string_view text : {"Zg==", "Zh", "+__-", "-/_-", "Z", "Zm9v Zm9v", "Zg="})
        EXPECT_EQ(from_base64url(text), std::nullopt) << text;
}

}  // namespace
}  // namespace crab
