#include "adapters/mcp/wire/post_meaning.hpp"

#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using enum PostMeaning;
using Headers = std::optional<std::string_view>;

PostReading read(const PostContext& context) { return meaning_of(context, RevisionSet()); }

void expect_refused(const PostContext& context, int status, std::int64_t code) {
    const PostReading reading = read(context);
    EXPECT_EQ(reading.meaning, kRefused);
    EXPECT_EQ(reading.http_status, status);
    EXPECT_EQ(reading.error.code, code);
    EXPECT_FALSE(reading.error.message.empty());
}

TEST(McpPostMeaning, AVersionInMetaMakesItModernWhateverElseItSays) {
    for (const Headers header : {Headers(), Headers("2025-11-25"), Headers("2026-07-28")}) {
        for (const NamedSession session :
             {NamedSession::kNone, NamedSession::kLive, NamedSession::kUnknown}) {
            for (const bool initialize : {false, true})
                EXPECT_EQ(read({.meta_names_version = true,
                                .is_initialize = initialize,
                                .version_header = header,
                                .session = session})
                              .meaning,
                          kModern);
        }
    }
}

TEST(McpPostMeaning, AModernHeaderWithoutMetaIsMalformed) {
    expect_refused({.version_header = "2026-07-28"}, 400, -32602);
    expect_refused({.is_initialize = true, .version_header = "2026-07-28"}, 400, -32602);
    expect_refused({.version_header = "2026-07-28", .session = NamedSession::kLive}, 400, -32602);
}

TEST(McpPostMeaning, InitializeOpensASession) {
    for (const Headers header : {Headers(), Headers("2025-03-26"), Headers("1900-01-01")})
        EXPECT_EQ(read({.is_initialize = true, .version_header = header}).meaning, kOpening);
}

TEST(McpPostMeaning, ALiveSessionTakesItsOwnVersionOrNone) {
    PostContext context{.session = NamedSession::kLive, .session_revision = Revision::k2025_06_18};
    EXPECT_EQ(read(context).meaning, kOfSession);
    context.version_header = "2025-06-18";
    EXPECT_EQ(read(context).meaning, kOfSession);
    for (const Headers other : {Headers("2025-11-25"), Headers("1900-01-01"), Headers("")}) {
        context.version_header = other;
        expect_refused(context, 400, -32600);
    }
}

TEST(McpPostMeaning, AVersionThatIsNotEnabledIsUnknown) {
    const Revision only[] = {Revision::k2025_11_25};
    const auto code = [&](std::string_view version) {
        return meaning_of({.version_header = version}, RevisionSet(only)).error.code;
    };
    EXPECT_EQ(code("2025-11-25"), -32600);
    EXPECT_EQ(code("2025-06-18"), -32022);
    EXPECT_EQ(code("1900-01-01"), -32022);
}

TEST(McpPostMeaning, ASessionThatIsNotThereIsNotFound) {
    for (const bool initialize : {false, true})
        expect_refused({.is_initialize = initialize, .session = NamedSession::kUnknown}, 404,
                       -32600);
}

TEST(McpPostMeaning, WithoutASessionItIsToldWhatToDo) {
    expect_refused({.version_header = "1900-01-01"}, 400, -32022);
    expect_refused({.version_header = "2025-11-25"}, 400, -32600);
    expect_refused({}, 400, -32600);
    EXPECT_TRUE(read({.version_header = "1900-01-01"}).error.data.contains("\"requested\":\"1900"));
    EXPECT_TRUE(read({}).error.message.contains("initialize"));
}

}  // namespace
}  // namespace crab::mcp
