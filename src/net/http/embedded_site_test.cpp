#include "net/http/embedded_site.hpp"

#include "net/codec/gzip.hpp"
#include "net/http/http_server.hpp"
#include "net/http/routed_service.hpp"
#include "net/http/test_support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

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

TEST(AcceptsPackedTest, OnlyAListThatNamesGzipAndWantsIt) {
    for (const std::string_view field : {"gzip", "br, GZIP", "deflate;q=1,gzip ; q=0.1"})
        EXPECT_TRUE(accepts_packed(field)) << field;
    for (const std::string_view field : {"", "identity", "gzip;q=0", "gzip; q=0.000, br", "xgzip"})
        EXPECT_FALSE(accepts_packed(field)) << field;
}

/// A page of one file, `a` many times, that is packed.
class PackedPage final : public RoutedService<int> {
public:
    PackedPage() {
        EXPECT_TRUE(gzip(text, text.size(), content));
        file.content = content;
    }
    Task<void> serve(HttpExchange& exchange) override {
        const EmbeddedSite site({&file, 1});
        EXPECT_TRUE(site.serve(exchange, "a.js", {}));
        co_return;
    }
    const std::string text = std::string(2000, 'a');
    std::string content;
    EmbeddedFile file{.path = "a.js",
                      .content_type = "text/javascript",
                      .etag = "\"1\"",
                      .content = {},
                      .unpacked_size = text.size()};
};

TEST(EmbeddedSiteTest, WhatIsPackedIsUnpackedForThoseWhoDoNotAcceptIt) {
    RealClock clock;
    PackedPage page;
    test::ServerThread server{clock, page};
    const auto ask = [&](std::string_view fields) {
        test::RawClient client(server.endpoint());
        client.send(fmt::format("GET /a.js HTTP/1.1\r\nHost: h\r\n{}\r\n", fields));
        return client.read_response();
    };
    const std::string plain = ask("");
    EXPECT_THAT(plain, testing::EndsWith("\r\n\r\n" + page.text));
    EXPECT_THAT(plain, testing::HasSubstr("ETag: \"1\"\r\n"));
    EXPECT_THAT(plain, testing::HasSubstr("Vary: Accept-Encoding\r\n"));
    EXPECT_THAT(plain, testing::Not(testing::HasSubstr("Content-Encoding")));
    const std::string packed = ask("Accept-Encoding: gzip, br\r\n");
    EXPECT_THAT(packed, testing::EndsWith("\r\n\r\n" + page.content));
    EXPECT_THAT(packed, testing::HasSubstr("ETag: \"1-gzip\"\r\n"));
    EXPECT_THAT(packed, testing::HasSubstr("Content-Encoding: gzip\r\n"));
    EXPECT_THAT(ask("Accept-Encoding: gzip\r\nIf-None-Match: \"1-gzip\"\r\n"),
                testing::HasSubstr("HTTP/1.1 304 "));
    EXPECT_THAT(ask("If-None-Match: \"1-gzip\"\r\n"), testing::HasSubstr("HTTP/1.1 200 "));
}

}  // namespace
}  // namespace crab::net
