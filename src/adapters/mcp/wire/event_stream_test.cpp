#include "adapters/mcp/wire/event_stream.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace crab::mcp {
namespace {

using Kind = StreamPart::Kind;
using Parts = std::vector<std::pair<Kind, std::string>>;

Parts read(EventStream& stream, std::string_view bytes,
           std::size_t piece = std::string_view::npos) {
    Parts parts;
    while (!bytes.empty()) {
        std::string_view in = bytes.substr(0, piece);
        bytes.remove_prefix(in.size());
        for (StreamPart part = stream.next(in); part.kind != Kind::kNeedMore;
             part = stream.next(in)) {
            parts.emplace_back(part.kind, part.data);
            if (part.kind == Kind::kOversize) return parts;
        }
    }
    return parts;
}

Parts read(std::string_view bytes) {
    EventStream whole, cut;
    const Parts parts = read(whole, bytes);
    EXPECT_EQ(read(cut, bytes, 1), parts) << "cut into bytes: " << bytes;
    return parts;
}

TEST(McpEventStream, EveryLineEndTheMarkAndCommentsAreRead) {
    const Parts one{{Kind::kMessage, "{}"}};
    for (const std::string_view bytes :
         {"data: {}\n\n", "data: {}\r\r", "data: {}\r\n\r\n",
          "\xef\xbb\xbf"
          "data:{}\n\n",
          ": hello\n\n:\n\ndata: {}\n\n", "event: message\nid: 4\ndata: {}\n\n",
          "data: {}\n\ndata: cut off", "retry: 5\n\ndata\n\ndata: {}\n\n"}) {
        EXPECT_EQ(read(bytes), one) << bytes;
    }
    EXPECT_EQ(read("data: {\ndata: \"a\":1\ndata: }\n\n"),
              (Parts{{Kind::kMessage, "{\n\"a\":1\n}"}}));
}

TEST(McpEventStream, OtherTypesAreIgnoredAndTheEndpointIsNot) {
    EXPECT_EQ(read("event: ping\ndata: {}\n\nevent: endpoint\ndata: /messages?s=1\n\n"),
              (Parts{{Kind::kEndpoint, "/messages?s=1"}}));
}

TEST(McpEventStream, EmptyDataIsNoMessageButItsIdAndDelayCount) {
    EventStream stream;
    EXPECT_EQ(read(stream, "id: s1-0\nretry: 1000\ndata: \n\n"), Parts{});
    EXPECT_EQ(stream.last_id(), "s1-0");
    EXPECT_EQ(stream.retry(), std::chrono::seconds(1));
    EXPECT_EQ(read(stream, "id: s1-1\ndata: {}"), Parts{});
    EXPECT_EQ(stream.last_id(), "s1-0") << "what was cut off has to come again";
}

TEST(McpEventStream, AMessageAboveTheLimitIsOversizeForGood) {
    const std::string fits(kMaxReply, 'a');
    EventStream stream;
    const Parts parts = read(stream, "event: message\nid: 12345\ndata: " + fits + "\n\n", 65'536);
    ASSERT_EQ(parts.size(), 1U);
    EXPECT_EQ(parts[0].first, Kind::kMessage);
    EXPECT_EQ(parts[0].second.size(), kMaxReply);
    EXPECT_EQ(read(stream, "data: " + fits + "a\n\n", 65'536), (Parts{{Kind::kOversize, ""}}));
    EXPECT_EQ(read(stream, "data: {}\n\n"), (Parts{{Kind::kOversize, ""}}));
}

TEST(McpEventStream, AStreamWithoutAnEndIsCutOff) {
    EventStream stream(100);
    const std::string line(64, 'a');
    std::size_t given = 0;
    for (Parts parts; parts.empty() && given < 100'000; given += line.size())
        parts = read(stream, line);
    EXPECT_LT(given, 10'000U) << "memory is bounded before the event ends";
}

TEST(McpEventStream, WhatIsWrittenReadsBackOnOneLine) {
    std::string out;
    ASSERT_TRUE(append_message_event(out, "s1-3", "{\n  \"a\": \"b\\n\"\r\n}"));
    EXPECT_EQ(out, "event: message\nid: s1-3\ndata: {  \"a\": \"b\\n\"}\n\n");
    EXPECT_EQ(read(out), (Parts{{Kind::kMessage, "{  \"a\": \"b\\n\"}"}}));
    out.clear();
    ASSERT_TRUE(append_message_event(out, "", "{}"));
    EXPECT_EQ(out, "event: message\ndata: {}\n\n");
    out.clear();
    ASSERT_TRUE(append_priming_event(out, "s1-0"));
    EXPECT_EQ(out, "id: s1-0\ndata: \n\n");
    EXPECT_FALSE(append_message_event(out, "a\nb", "{}"));
}

}  // namespace
}  // namespace crab::mcp
