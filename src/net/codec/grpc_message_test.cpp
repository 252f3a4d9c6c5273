#include "net/codec/grpc_message.hpp"

#include "net/codec/grpc_status.hpp"

#include <gtest/gtest.h>

namespace crab::net {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using Kind = GrpcFrame::Kind;

TEST(GrpcFrame, IsReadFromWhateverPartHasCome) {
    const std::string body = "\0\0\0\0\3abc"s;
    for (std::size_t size = 0; size < body.size(); ++size) EXPECT_EQ(read_grpc_frame(body.substr(0, size), 100).kind, Kind::kNeedMore) << size;
    const GrpcFrame frame = read_grpc_frame(body + "rest", 100);
    EXPECT_EQ(frame.kind, Kind::kMessage);
    EXPECT_EQ(frame.message, "abc");
    EXPECT_EQ(frame.size, 8U);
}

TEST(GrpcFrame, SaysHowMuchItNeeds) { EXPECT_EQ(read_grpc_frame("\0\0\1\0\0x"s, 1 << 20).size, 5U + 65'536U); }

TEST(GrpcFrame, BeyondTheLimitOrCompressedIsRefusedByItsPrefix) {
    EXPECT_EQ(read_grpc_frame("\0\0\0\0\4"s, 3).kind, Kind::kTooLarge);
    EXPECT_EQ(read_grpc_frame("\0\0\0\0\3"s, 3).kind, Kind::kNeedMore);
    EXPECT_EQ(read_grpc_frame("\1"s, 3).kind, Kind::kCompressed);
}

TEST(GrpcFrame, IsWrittenInOneStepOrInTwo) {
    std::string once = "x", twice = "x";
    append_grpc_frame(once, "hello");
    const std::size_t begun = begin_grpc_frame(twice);
    twice += "hello";
    end_grpc_frame(twice, begun);
    EXPECT_EQ(once, "x\0\0\0\0\5hello"s);
    EXPECT_EQ(twice, once);
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
    for (const std::string_view bad : {"", "S", "5", "5s", "123456789S", "-1S", "1.5S", " 1S"}) EXPECT_FALSE(parse_grpc_timeout(bad)) << bad;
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
    for (const std::string_view bad : {"", "17", "-1", "x", "1 "}) EXPECT_EQ(parse_grpc_status(bad), GrpcStatus::kUnknown) << bad;
}

}  // namespace
}  // namespace crab::net
