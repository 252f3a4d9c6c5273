#include "net/codec/websocket_deflate.hpp"

#include "net/codec/websocket_decoder.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace crab::net {
namespace {

using namespace std::string_literals;
using Outcome = MessageInflater::Outcome;

constexpr std::size_t kEnough = 1 << 20;

std::string deflated(std::string_view message, int window_bits = 15) {
    MessageDeflater deflater;
    std::string out;
    deflater.deflate(message, window_bits, out);
    return out;
}

TEST(WebSocketDeflate, TheExamplesOfRfc7692AreRead) {
    MessageInflater inflater;
    std::string out;
    EXPECT_EQ(inflater.inflate("\xf2\x48\xcd\xc9\xc9\x07\x00"s, kEnough, out), Outcome::kDone);
    EXPECT_EQ(out, "Hello");
    EXPECT_EQ(inflater.inflate("\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00"s, kEnough, out),
              Outcome::kDone)
        << "a stored block";
    EXPECT_EQ(out, "Hello");
    EXPECT_EQ(inflater.inflate("\xf3\x48\xcd\xc9\xc9\x07\x00\x00"s, kEnough, out), Outcome::kDone)
        << "a final block";
    EXPECT_EQ(out, "Hello");
    EXPECT_EQ(
        inflater.inflate("\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00"s, kEnough, out),
        Outcome::kDone)
        << "two blocks";
    EXPECT_EQ(out, "Hello");
}

TEST(WebSocketDeflate, AnEmptyMessageIsOneZeroByte) {
    EXPECT_EQ(deflated(""), "\x00"s);
    MessageInflater inflater;
    std::string out = "old";
    EXPECT_EQ(inflater.inflate("\x00"s, kEnough, out), Outcome::kDone);
    EXPECT_EQ(out, "");
    EXPECT_EQ(inflater.inflate("\x00"s, 0, out), Outcome::kDone);
}

TEST(WebSocketDeflate, EveryWindowAndSizeRoundTripsWithOnePairForAll) {
    constexpr unsigned kSeed = 1;
    std::mt19937 random(kSeed);
    MessageDeflater deflater;
    MessageInflater inflater;
    for (int window = MessageDeflater::kMinWindowBits; window <= MessageDeflater::kMaxWindowBits;
         ++window) {
        for (const std::size_t size : {1U, 2U, 100U, 4095U, 4096U, 4097U, 100'000U}) {
            for (const unsigned alphabet : {1U, 4U, 256U}) {
                std::string message(size, '\0');
                for (char& c : message) c = static_cast<char>(random() % alphabet);
                std::string small = "before";
                deflater.deflate(message, window, small);
                std::string back;
                ASSERT_EQ(inflater.inflate(std::string_view(small).substr(6), size, back),
                          Outcome::kDone)
                    << window << " " << size;
                ASSERT_TRUE(back == message) << window << " " << size << " " << alphabet;
            }
        }
    }
}

TEST(WebSocketDeflate, ABombStopsAtTheLimit) {
    const std::string bomb = deflated(std::string(50'000'000, 'a'));
    EXPECT_LT(bomb.size(), 60'000U);
    MessageInflater inflater;
    std::string out;
    EXPECT_EQ(inflater.inflate(bomb, kEnough, out), Outcome::kTooBig);
    EXPECT_LE(out.capacity(), 2 * kEnough + 2);
    const std::string exact = deflated(std::string(1000, 'a'));
    EXPECT_EQ(inflater.inflate(exact, 1000, out), Outcome::kDone);
    EXPECT_EQ(inflater.inflate(exact, 999, out), Outcome::kTooBig);
    const std::string final_block = "\xf3\x48\xcd\xc9\xc9\x07\x00\x00"s;  // "Hello"
    EXPECT_EQ(inflater.inflate(final_block, 5, out), Outcome::kDone);
    EXPECT_EQ(inflater.inflate(final_block, 4, out), Outcome::kTooBig);
}

TEST(WebSocketDeflate, WhatIsNoDeflateStreamIsBroken) {
    MessageInflater inflater;
    std::string out;
    const std::string good = deflated(
        "The quick brown fox jumps over the lazy dog, twice: the quick brown fox jumps over the "
        "lazy dog");
    for (const std::string& bad :
         {"\xff\xff\xff"s, "\x07"s, ""s, good.substr(0, 20), "\x02\x05\x00\x00"s}) {
        EXPECT_EQ(inflater.inflate(bad, kEnough, out), Outcome::kBroken)
            << testing::PrintToString(bad);
    }
    EXPECT_EQ(inflater.inflate(good, kEnough, out), Outcome::kDone)
        << "a broken message leaves nothing behind";
}

TEST(WebSocketDeflate, TheDecoderInflatesWholeAndFragmentedMessages) {
    MessageInflater inflater;
    WebSocketDecoder decoder({.role = WebSocketDecoder::Role::kClient,
                              .max_message_bytes = 100'000,
                              .inflater = &inflater});
    const std::string message(50'000, 'm');
    const std::string small = deflated(message);
    std::string bytes;
    append_frame(bytes, Opcode::kText, small, {}, Compressed::kYes);
    append_frame(bytes, Opcode::kText, "plain");
    std::string first, last;
    append_frame(first, Opcode::kBinary, std::string_view(small).substr(0, 10), {},
                 Compressed::kYes);
    first[0] = static_cast<char>(first[0] & 0x7f);
    append_frame(last, Opcode::kContinuation, std::string_view(small).substr(10));
    bytes += first;
    append_frame(bytes, Opcode::kPing, "between");
    bytes += last;
    std::span<char> in(bytes);
    EXPECT_TRUE(decoder.next(in).payload == message);
    EXPECT_EQ(decoder.next(in).payload, "plain");
    EXPECT_EQ(decoder.next(in).payload, "between");
    const WebSocketEvent event = decoder.next(in);
    EXPECT_EQ(event.kind, WebSocketEvent::Kind::kBinary);
    EXPECT_TRUE(event.payload == message);
    EXPECT_EQ(decoder.next(in).kind, WebSocketEvent::Kind::kNeedMore);
    EXPECT_EQ(decoder.buffered_bytes(), 0U);
}

WebSocketEvent decode_compressed(std::string_view compressed, std::size_t max_bytes) {
    MessageInflater inflater;
    WebSocketDecoder decoder({.role = WebSocketDecoder::Role::kClient,
                              .max_message_bytes = max_bytes,
                              .inflater = &inflater});
    std::string bytes;
    append_frame(bytes, Opcode::kText, compressed, {}, Compressed::kYes);
    std::span<char> in(bytes);
    return decoder.next(in);
}

TEST(WebSocketDeflate, OfABombTheDecoderShowsTheBeginningAndNoMore) {
    MessageInflater inflater;
    WebSocketDecoder decoder(
        {.role = WebSocketDecoder::Role::kClient, .max_message_bytes = 999, .inflater = &inflater});
    std::string bytes;
    append_frame(bytes, Opcode::kText, deflated(std::string(100'000, 'a')), {}, Compressed::kYes);
    append_frame(bytes, Opcode::kText, deflated("fine"), {}, Compressed::kYes);
    std::span<char> in(bytes);
    const WebSocketEvent bomb = decoder.next(in);
    EXPECT_EQ(bomb.kind, WebSocketEvent::Kind::kExcess);
    EXPECT_TRUE(bomb.last);
    EXPECT_EQ(bomb.payload, std::string(1000, 'a'));
    EXPECT_EQ(decoder.next(in).payload, "fine");
}

TEST(WebSocketDeflate,
     TheDecoderClosesOnMessagesTooLargeEvenPackedOnBrokenStreamsAndInflatedNonsense) {
    EXPECT_EQ(decode_compressed(std::string(1001, 'a'), 1000).code, 1009);
    EXPECT_EQ(decode_compressed("\xff\xff", 1000).code, 1007);
    EXPECT_EQ(decode_compressed(deflated("\xff\xfe"), 1000).code, 1007);
    EXPECT_EQ(decode_compressed(deflated("fine"), 1000).kind, WebSocketEvent::Kind::kText);
}

TEST(WebSocketDeflate, AContinuationMayNotClaimCompression) {
    MessageInflater inflater;
    WebSocketDecoder decoder({.role = WebSocketDecoder::Role::kClient, .inflater = &inflater});
    std::string bytes =
        "\x41\x01"
        "a"
        "\xc0\x01"
        "b";
    std::span<char> in(bytes);
    EXPECT_EQ(decoder.next(in).code, 1002);
}

}  // namespace
}  // namespace crab::net
