#include "net/codec/websocket_frame.hpp"

#include <gtest/gtest.h>

#include <string>

namespace crab::net {
namespace {

using namespace std::string_literals;

TEST(WebSocketFrame, TheExamplesOfRfc6455AreReproduced) {
    std::string out;
    append_frame(out, Opcode::kText, "Hello");
    EXPECT_EQ(out, "\x81\x05Hello");
    out.clear();
    append_frame(out, Opcode::kText, "Hello", 0x3d21fa37);  // 37 fa 21 3d on the wire
    EXPECT_EQ(out, "\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
    out.clear();
    append_frame(out, Opcode::kPing, "Hello");
    EXPECT_EQ(out, "\x89\x05Hello");
}

TEST(WebSocketFrame, TheShortestLengthFormIsUsedAndCompressionSetsOneBit) {
    const auto header = [](std::size_t size, Compressed compressed = Compressed::kNo) {
        std::string out;
        append_frame(out, Opcode::kBinary, std::string(size, 'x'), {}, compressed);
        return out.substr(0, out.size() - size);
    };
    EXPECT_EQ(header(0), "\x82\x00"s);
    EXPECT_EQ(header(125), "\x82\x7d"s);
    EXPECT_EQ(header(126), "\x82\x7e\x00\x7e"s);
    EXPECT_EQ(header(65535), "\x82\x7e\xff\xff"s);
    EXPECT_EQ(header(65536), "\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00"s);
    EXPECT_EQ(header(1, Compressed::kYes), "\xc2\x01"s);
}

TEST(WebSocketFrame, AFrameWrittenInPlaceEqualsOneWrittenAtOnce) {
    for (const Mask mask : {Mask{}, Mask{0x01020304}}) {
        for (const std::size_t size : {0U, 1U, 125U, 126U, 127U, 65'535U, 65'536U, 100'000U}) {
            const std::string payload(size, 'p');
            std::string at_once = "before";
            std::string in_place = "before";
            append_frame(at_once, Opcode::kText, payload, mask);
            const OpenFrame frame = begin_frame(in_place, Opcode::kText, mask);
            in_place += payload;
            finish_frame(in_place, frame);
            EXPECT_TRUE(in_place == at_once) << size;
        }
    }
}

TEST(WebSocketFrame, AMaskMayBeAppliedInPieces) {
    const std::string plain = "The quick brown fox jumps over the lazy dog";
    std::string whole = plain;
    apply_mask(whole, 0xdeadbeef);
    for (std::size_t i = 0; i < plain.size(); ++i) {
        EXPECT_EQ(whole[i],
                  static_cast<char>(plain[i] ^ static_cast<char>(0xdeadbeefU >> (8 * (i % 4)))));
    }
    for (std::size_t cut = 0; cut <= plain.size(); ++cut) {
        std::string pieces = plain;
        const std::uint32_t turned = apply_mask(std::span(pieces).first(cut), 0xdeadbeef);
        apply_mask(std::span(pieces).subspan(cut), turned);
        EXPECT_EQ(pieces, whole) << cut;
    }
}

TEST(WebSocketFrame, ACloseReasonIsCutTo123BytesBetweenCharacters) {
    const auto reason = [](std::string_view text) {
        std::string out;
        append_close(out, 1008, text);
        EXPECT_LE(out.size(), 2U + 125U);
        EXPECT_EQ(out.substr(2, 2), "\x03\xf0");
        return out.substr(4);
    };
    EXPECT_EQ(reason("slow reader"), "slow reader");
    EXPECT_EQ(reason(std::string(123, 'a')), std::string(123, 'a'));
    EXPECT_EQ(reason(std::string(124, 'a')), std::string(123, 'a'));
    EXPECT_EQ(reason(std::string(122, 'a') + "\xc3\xa9"), std::string(122, 'a'));
    EXPECT_EQ(reason(std::string(120, 'a') + "\xe2\x82\xac" + "b"),
              std::string(120, 'a') + "\xe2\x82\xac");
}

TEST(WebSocketFrame, ACloseWithoutStatusIsEmpty) {
    std::string out;
    append_close(out, close_code::kNoStatus, "ignored");
    EXPECT_EQ(out, "\x88\x00"s);
}

}  // namespace
}  // namespace crab::net
