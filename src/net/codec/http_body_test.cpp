#include "net/codec/http_body.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace crab::net {
namespace {

using Kind = BodyEvent::Kind;

struct Read {
    std::string data;
    Kind last = Kind::kNeedMore;
    int status = 0;
    std::string rest;
    bool operator==(const Read&) const = default;
};

Read read(BodyDecoder decoder, std::string_view bytes, std::size_t piece = std::string_view::npos) {
    Read result;
    while (true) {
        std::string_view in = bytes.substr(0, piece);
        bytes.remove_prefix(in.size());
        BodyEvent event = decoder.next(in);
        for (; event.kind == Kind::kData; event = decoder.next(in)) {
            EXPECT_FALSE(event.data.empty());
            result.data += event.data;
        }
        result.last = event.kind;
        result.status = event.status;
        if (event.kind != Kind::kNeedMore || bytes.empty()) {
            result.rest = std::string(in) + std::string(bytes);
            return result;
        }
    }
}

BodyDecoder chunked(const BodyLimits& limits = {}) { return {BodyFraming::kChunked, 0, limits}; }

TEST(HttpBody, NoBodyIsOverAtOnce) {
    EXPECT_EQ(read({BodyFraming::kNone, 0}, "GET /"), (Read{"", Kind::kEnd, 0, "GET /"}));
    EXPECT_EQ(read({BodyFraming::kLength, 0}, "GET /"), (Read{"", Kind::kEnd, 0, "GET /"}));
}

TEST(HttpBody, ContentLengthTakesThatManyBytesAndLeavesTheNextRequest) {
    EXPECT_EQ(read({BodyFraming::kLength, 5}, "helloGET /"),
              (Read{"hello", Kind::kEnd, 0, "GET /"}));
    EXPECT_EQ(read({BodyFraming::kLength, 5}, "hell"), (Read{"hell", Kind::kNeedMore, 0, ""}));
}

TEST(HttpBody, ABodyUntilCloseEndsWithTheConnection) {
    BodyDecoder decoder(BodyFraming::kUntilClose, 0);
    std::string_view in = "all of it";
    EXPECT_EQ(decoder.next(in).data, "all of it");
    EXPECT_FALSE(decoder.done());
    EXPECT_TRUE(decoder.finish());
    EXPECT_TRUE(decoder.done());
    EXPECT_FALSE(BodyDecoder(BodyFraming::kLength, 1).finish());
    EXPECT_FALSE(chunked().finish());
}

TEST(HttpBody, ChunksAreJoinedAndExtensionsAndTrailersDropped) {
    for (const std::string_view bytes :
         {"5\r\nhello\r\n0\r\n\r\nGET /", "1\r\nh\r\n04\r\nello\r\n0\r\n\r\nGET /",
          "5;a=b;c=\"d e\"\r\nhello\r\n0;x\r\n\r\nGET /", "00000005\r\nhello\r\n00\r\n\r\nGET /",
          "5\r\nhello\r\n0\r\nX-Sum: 1\r\nY:\r\n\r\nGET /"}) {
        EXPECT_EQ(read(chunked(), bytes), (Read{"hello", Kind::kEnd, 0, "GET /"})) << bytes;
    }
    EXPECT_EQ(read(chunked(), "A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n").data,
              "01234567890123456789");
}

TEST(HttpBody, BrokenChunksAreRefused) {
    for (const std::string_view bytes : {"\r\n",
                                         "g\r\n",
                                         " 5\r\nhello",
                                         "5 \r\nhello",
                                         "5\t;a\r\nhello",
                                         "0x5\r\nhello",
                                         "-5\r\nhello",
                                         "+5\r\nhello",
                                         "5\nhello",
                                         "5\r\rhello",
                                         "5;a\nhello",
                                         "5;a\x01\r\nhello",
                                         "5\r\nhelloX",
                                         "5\r\nhello\n0\r\n",
                                         "5\r\nhello\r0\r\n",
                                         "5\r\nhello\rX",
                                         "00000000000000005\r\nhello",
                                         ";a\r\n",
                                         "0\r\n X: folded\r\n\r\n",
                                         "0\r\n: no name\r\n\r\n",
                                         "0\r\nX : a\r\n\r\n",
                                         "0\r\nX\r\n\r\n",
                                         "0\r\nX: a\n\r\n",
                                         "0\r\nX: a\rb\r\n\r\n",
                                         "0\r\n\rX",
                                         "0\r\n\n"}) {
        const Read result = read(chunked(), bytes);
        EXPECT_EQ(result.last, Kind::kRefused) << testing::PrintToString(bytes);
        EXPECT_EQ(result.status, 400) << testing::PrintToString(bytes);
    }
}

TEST(HttpBody, EveryLimitHoldsOnBothSides) {
    const BodyLimits five{.max_body_bytes = 5, .max_extension_bytes = 6, .max_trailer_bytes = 7};
    EXPECT_EQ(read({BodyFraming::kLength, 5, five}, "hello").last, Kind::kEnd);
    EXPECT_EQ(read({BodyFraming::kLength, 6, five}, "").status, 413);
    EXPECT_EQ(read({BodyFraming::kUntilClose, 0, five}, "hello").last, Kind::kNeedMore);
    EXPECT_EQ(read({BodyFraming::kUntilClose, 0, five}, "hello!").status, 413);
    EXPECT_EQ(read(chunked(five), "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n").last, Kind::kEnd);
    EXPECT_EQ(read(chunked(five), "2\r\nhe\r\n4").status, 413);
    EXPECT_EQ(read(chunked(five), "ffffffffffffffff").status, 413);
    EXPECT_EQ(read(chunked(five), "2;abc\r\nhe\r\n0;abc\r\n\r\n").last, Kind::kEnd);
    EXPECT_EQ(read(chunked(five), "2;abc\r\nhe\r\n0;abcd\r\n\r\n").status, 400);
    EXPECT_EQ(read(chunked(five), "0\r\nX: ab\r\n\r\n").last, Kind::kEnd);
    EXPECT_EQ(read(chunked(five), "0\r\nX: abc\r\n\r\n").status, 431);
    const BodyLimits any{.max_body_bytes = ~std::uint64_t{0}};
    EXPECT_EQ(read(chunked(any), "1\r\na\r\nffffffffffffffff\r\n").status, 413);
}

TEST(HttpBody, HowTheBytesAreCutMakesNoDifference) {
    constexpr unsigned kSeed = 1;
    std::mt19937 random(kSeed);
    constexpr std::string_view kAlphabet = "\r\n\r\n05;a: \x01";
    for (int run = 0; run < 3000; ++run) {
        std::string bytes;
        for (unsigned chunks = random() % 4; chunks > 0; --chunks) {
            bytes += random() % 2 == 0 ? "5\r\nhello\r\n" : "c;ext=\"1\"\r\nhello, world\r\n";
        }
        bytes += random() % 2 == 0 ? "0\r\n\r\nrest" : "0\r\nX: a\r\n\r\nrest";
        if (random() % 2 == 0)
            bytes[random() % bytes.size()] = kAlphabet[random() % kAlphabet.size()];
        const Read whole = read(chunked(), bytes);
        for (const std::size_t piece : {1U, 2U, 5U}) {
            const Read cut = read(chunked(), bytes, piece);
            ASSERT_EQ(cut.data, whole.data) << "seed " << kSeed << ", run " << run;
            ASSERT_EQ(cut.last, whole.last) << "seed " << kSeed << ", run " << run;
            ASSERT_EQ(cut.status, whole.status);
            ASSERT_EQ(cut.rest, whole.rest) << "seed " << kSeed << ", run " << run;
        }
    }
}

}  // namespace
}  // namespace crab::net
