#include "net/codec/sse.hpp"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

namespace crab::net {
namespace {

using namespace std::string_literals;
using Kind = SseEvent::Kind;
using Seen = std::vector<std::tuple<std::string, std::string, std::string>>;  // type, data, id

Seen read(SseParser& parser, std::string_view bytes, std::size_t piece = std::string_view::npos) {
    Seen seen;
    while (!bytes.empty()) {
        std::string_view in = bytes.substr(0, piece);
        bytes.remove_prefix(in.size());
        for (SseEvent event = parser.next(in); event.kind == Kind::kEvent;
             event = parser.next(in)) {
            seen.emplace_back(event.type, event.data, event.id);
        }
        EXPECT_TRUE(in.empty());
    }
    return seen;
}

Seen read(std::string_view bytes) {
    SseParser whole, cut;
    const Seen seen = read(whole, bytes);
    EXPECT_EQ(read(cut, bytes, 1), seen) << bytes;
    return seen;
}

TEST(Sse, AnEventIsWrittenWithTypeIdAndEveryLineOfItsData) {
    std::string out;
    ASSERT_TRUE(append_sse_event(out, "update", "7", "one\ntwo\r\nthree\rfour"));
    EXPECT_EQ(out, "event: update\nid: 7\ndata: one\ndata: two\ndata: three\ndata: four\n\n");
    EXPECT_EQ(read(out), (Seen{{"update", "one\ntwo\nthree\nfour", "7"}}));
    out.clear();
    ASSERT_TRUE(append_sse_event(out, "", "", "{\"a\":1}"));
    EXPECT_EQ(out, "data: {\"a\":1}\n\n");
}

TEST(Sse, DataOfAnyFormReadsBack) {
    for (const std::string& data :
         {""s, " leading"s, "a\n"s, "\n"s, "\n\nb"s, ":colon"s, "data: x"s, "caf\xc3\xa9"s}) {
        std::string out;
        ASSERT_TRUE(append_sse_event(out, "t", "", data));
        EXPECT_EQ(read(out), (Seen{{"t", data, ""}})) << testing::PrintToString(data);
    }
}

TEST(Sse, ATypeOrIdWithItsOwnLineIsNotWritten) {
    for (const std::string& bad : {"a\nb"s, "a\rb"s, "a\0b"s}) {
        std::string out;
        EXPECT_FALSE(append_sse_event(out, bad, "", "x"));
        EXPECT_FALSE(append_sse_event(out, "", bad, "x"));
        EXPECT_EQ(out, "");
    }
}

TEST(Sse, TheRulesOfTheStandardHold) {
    EXPECT_EQ(read("data: a\n\n"), (Seen{{"message", "a", ""}}));
    EXPECT_EQ(read("data:a\ndata:  b\n\n"), (Seen{{"message", "a\n b", ""}}));
    EXPECT_EQ(read("data: a\r\n\r\ndata: b\r\rdata: c\n\n"),
              (Seen{{"message", "a", ""}, {"message", "b", ""}, {"message", "c", ""}}));
    EXPECT_EQ(read(":comment\n\n: another\ndata: a\n\n"), (Seen{{"message", "a", ""}}));
    EXPECT_EQ(read("data\n\ndata\ndata\n\ndata:\n\n"),
              (Seen{{"message", "", ""}, {"message", "\n", ""}, {"message", "", ""}}));
    EXPECT_EQ(read("event: a\n\ndata: b\n\n"), (Seen{{"message", "b", ""}}))
        << "a type without data is forgotten";
    EXPECT_EQ(read("id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n"),
              (Seen{{"message", "a", "1"}, {"message", "b", "1"}, {"message", "c", ""}}));
    EXPECT_EQ(read("id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n"s),
              (Seen{{"message", "a", "1"}, {"message", "b", "1"}}));
    EXPECT_EQ(read("Data: a\nunknown: b\ndata: c\n\n"), (Seen{{"message", "c", ""}}));
    EXPECT_EQ(read("\xef\xbb\xbf"
                   "data: a\n\n"),
              (Seen{{"message", "a", ""}}));
    EXPECT_EQ(read("data: cut off"), Seen{});
    EXPECT_EQ(read("data: cut off\n"), Seen{});
}

TEST(Sse, AnIdThatIsTooLongToSendBackIsNotKept) {
    SseParser parser;
    read(parser, "id: a\ndata: x\n\n");
    read(parser, "id: " + std::string(1025, 'i') + "\ndata: x\n\n");
    EXPECT_EQ(parser.last_id(), "a");
    read(parser, "id: " + std::string(1024, 'i') + "\ndata: x\n\n");
    EXPECT_EQ(parser.last_id(), std::string(1024, 'i'));
}

TEST(Sse, RetryIsADelayOfDigitsOnly) {
    SseParser parser;
    EXPECT_EQ(parser.retry(), std::nullopt);
    read(parser, "retry: 12x\n\n");
    EXPECT_EQ(parser.retry(), std::nullopt);
    std::string out;
    append_sse_ping(out);
    out += "retry: 3000\n\n";
    EXPECT_EQ(read(parser, out), Seen{});
    EXPECT_EQ(parser.retry(), std::chrono::milliseconds(3000));
    read(parser, "retry: 99999999999999999999\n\n");
    EXPECT_EQ(parser.retry(), std::chrono::milliseconds(3000));
    read(parser, "id: x\ndata: a\n\n");
    EXPECT_EQ(parser.last_id(), "x");
}

TEST(Sse, TheIdToResumeAfterIsThatOfTheLastWholeEvent) {
    SseParser parser;
    read(parser, "id: 1\ndata: a\n\nid: 2\ndata: cut off");
    EXPECT_EQ(parser.last_id(), "1") << "the second event has to come again";
    SseParser without_data;
    read(without_data, "id: 7\n\n");
    EXPECT_EQ(without_data.last_id(), "7");
    read(without_data, "id: " + std::string(1024, 'i') + "\n\n");
    EXPECT_EQ(without_data.last_id().size(), 1024u);
    read(without_data, "id: " + std::string(1025, 'j') + "\n\n");
    EXPECT_EQ(without_data.last_id()[0], 'i') << "a longer one is ignored";
}

TEST(Sse, AnEventBeyondTheLimitIsRefused) {
    const auto last = [](std::string_view bytes, std::size_t limit) {
        SseParser parser(limit);
        std::string_view in = bytes;
        const Kind kind = parser.next(in).kind;
        std::string_view more = "data: a\n\n";
        if (kind == Kind::kRefused) {
            EXPECT_EQ(parser.next(more).kind, Kind::kRefused);
        }
        return kind;
    };
    EXPECT_EQ(last("data: 0123456789\n\n", 16), Kind::kEvent);
    EXPECT_EQ(last("data: 0123456789\n\n", 15), Kind::kRefused);
    EXPECT_EQ(last("data: 0123456789", 15), Kind::kRefused);
    EXPECT_EQ(last("data: 0123456789\ndata: 0123456789\n\n", 20), Kind::kRefused);
}

}  // namespace
}  // namespace crab::net
