#include "net/http/embedded_site.hpp"

#include "net/http/http_server.hpp"
#include "net/http/test_support.hpp"

#include <gtest/gtest.h>

namespace crab::net {
namespace {

TEST(NamesEtagTest, AListWithTheTagNamesIt) {
    EXPECT_TRUE(names_etag(R"("a")", R"("a")"));
    EXPECT_TRUE(names_etag(R"("x",  W/"a" , "y")", R"("a")"));
    EXPECT_TRUE(names_etag("*", R"("a")"));
}

TEST(NamesEtagTest, OtherTagsAndNoiseDoNot) {
    for (const std::string_view field : {"", "a", R"("b")", R"("a)", ",,", R"("aa", W/)", "  "})
        EXPECT_FALSE(names_etag(field, R"("a")")) << field;
}

}  // namespace
}  // namespace crab::net
