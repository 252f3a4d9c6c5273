#include "net/codec/grpc_message.hpp"

#include "net/codec/gzip.hpp"

#include "net/codec/grpc_status.hpp"

#include <gtest/gtest.h>

namespace crab::net {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using Kind = GrpcFrame::Kind;

TEST(GrpcFrame, IsReadFromWhateverPartHasCome) {
    const std::string body = "\0\0\0\0\3abc"s;
    for (std::size_t size = 0; size < body.size(); ++size)
        EXPECT_EQ(read_grpc_frame(body.substr(0, size), 100).kind, Kind::kNeedMore) << size;
    const GrpcFrame frame = read_grpc_frame(body + "rest", 100);
    EXPECT_EQ(frame.kind, Kind::kMessage);
    EXPECT_EQ(frame.message, "abc");
    EXPECT_EQ(frame.size, 8U);
}

TEST(GrpcFrame, SaysHowMuchItNeeds) {
    EXPECT_EQ(read_grpc_frame("\0\0\1\0\0x"s, 1 << 20).size, 5U + 65'536U);
}

TEST(GrpcFrame, BeyondTheLimitOrWithAnUnknownFlagIsRefusedByItsPrefix) {
    EXPECT_EQ(read_grpc_frame("\0\0\0\0\4"s, 3).kind, Kind::kTooLarge);
    EXPECT_EQ(read_grpc_frame("\0\0\0\0\3"s, 3).kind, Kind::kNeedMore);
    EXPECT_EQ(read_grpc_frame("\1"s, 3).kind, Kind::kNeedMore);
    EXPECT_EQ(read_grpc_frame("\2"s, 3).kind, Kind::kNoFlag);
}

TEST(GrpcFrame, IsPackedWhereThatPays) {
    const auto framed = [](std::string_view message) {
        std::string out = "before";
        const std::size_t begun = begin_grpc_frame(out);
        out += message;
        end_grpc_frame(out, begun);
        const bool packed = pack_grpc_frame(out, begun);
        const GrpcFrame frame =
            read_grpc_frame(std::string_view(out).substr(6), std::size_t{4} << 20);
        EXPECT_EQ(frame.kind, Kind::kMessage);
        EXPECT_EQ(frame.compressed, packed);
        std::string text(frame.message);
        if (packed) EXPECT_EQ(gunzip(frame.message, message.size(), text), GunzipOutcome::kDone);
        EXPECT_EQ(text, message);
        return packed;
    };
    EXPECT_TRUE(framed(std::string(100'000, 'x')));
    EXPECT_FALSE(framed(std::string(1'000, 'x')));
    std::string noise;
    for (std::uint32_t i = 1; noise.size() < 100'000; ++i)
        noise += static_cast<char>((i * 2'654'435'761U) >> 24);
    (void)framed(noise);
}

TEST(GrpcFrame, AcceptedPackingsAreAList) {
    EXPECT_TRUE(accepts_gzip("identity, deflate, gzip"));
    EXPECT_TRUE(accepts_gzip("gzip"));
    EXPECT_FALSE(accepts_gzip(""));
    EXPECT_FALSE(accepts_gzip("identity,gzip2"));
}

TEST(GrpcFrame, IsWrittenAroundItsMessage) {
    std::string out = "x";
    const std::size_t begun = begin_grpc_frame(out);
    out += "hello";
    end_grpc_frame(out, begun);
    EXPECT_EQ(out, "x\0\0\0\0\5hello"s);
}

TEST(GrpcMessage, EscapesWhatIsNotPrintableAndReadsItBack) {
    EXPECT_EQ(grpc_message_text("50% of \xc3\xa4\n"), "50%25 of %C3%A4%0A");
    EXPECT_EQ(parse_grpc_message("50%25 of %c3%A4%0A"), "50% of \xc3\xa4\n");
    EXPECT_EQ(parse_grpc_message("100% %zz %4"), "100% %zz %4");
}

TEST(GrpcTimeout, HasUpToEightDigitsAndAUnit) {
    EXPECT_EQ(parse_grpc_timeout("250m"), 250ms);
    EXPECT_EQ(parse_grpc_timeout("1S"), 1s);
    EXPECT_EQ(parse_grpc_timeout("2M"), 2min);
    EXPECT_EQ(parse_grpc_timeout("7u"), 7us);
    EXPECT_EQ(parse_grpc_timeout("7n"), 7ns);
    EXPECT_EQ(parse_grpc_timeout("99999999H"), std::chrono::nanoseconds::max());
    for (const std::string_view bad : {"", "S", "5", "5s", "123456789S", "-1S", "1.5S", " 1S"})
        EXPECT_FALSE(parse_grpc_timeout(bad)) << bad;
}

TEST(GrpcTimeout, IsWrittenNoShorterThanItIs) {
    EXPECT_EQ(grpc_timeout_text(5s), "5000000u");
    EXPECT_EQ(grpc_timeout_text(1ns), "1n");
    EXPECT_EQ(grpc_timeout_text(100s + 1ns), "100001m");
    EXPECT_EQ(grpc_timeout_text(-1s), "0n");
}

TEST(GrpcStatus, IsANumberOnTheWire) {
    EXPECT_EQ(text_of(GrpcStatus::kUnauthenticated), "16");
    EXPECT_EQ(parse_grpc_status("8"), GrpcStatus::kResourceExhausted);
    for (const std::string_view bad : {"", "17", "-1", "x", "1 "})
        EXPECT_EQ(parse_grpc_status(bad), GrpcStatus::kUnknown) << bad;
}

}  // namespace
}  // namespace crab::net
