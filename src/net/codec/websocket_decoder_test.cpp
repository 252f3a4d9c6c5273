#include "net/codec/websocket_decoder.hpp"

#include "net/codec/websocket_deflate.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

namespace crab::net {
namespace {

using namespace std::string_literals;
using Kind = WebSocketEvent::Kind;
using Role = WebSocketDecoder::Role;

constexpr std::uint32_t kMask = 0xa1b2c3d4;

struct Seen {
    Kind kind;
    std::uint16_t code;
    std::string payload;
    bool operator==(const Seen&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Seen& seen) {
    return out << fmt::format("{{{}, {}, {} bytes '{}'}}", static_cast<int>(seen.kind), seen.code,
                              seen.payload.size(), seen.payload.substr(0, 60));
}

void feed(WebSocketDecoder& decoder, std::string bytes, std::vector<Seen>& seen) {
    std::span<char> in(bytes);
    for (WebSocketEvent event = decoder.next(in); event.kind != Kind::kNeedMore;
         event = decoder.next(in)) {
        const bool goes_on = event.kind == Kind::kExcess && !seen.empty() &&
                             seen.back().kind == Kind::kExcess && seen.back().code == 0;
        if (!goes_on) seen.push_back({event.kind, event.code, {}});
        seen.back().payload += event.payload;
        if (event.last) seen.back().code = 1;  // what comes of the next such message is another
    }
    EXPECT_TRUE(in.empty());
}

std::vector<Seen> decode(const std::string& bytes, const WebSocketDecoder::Options& options = {}) {
    WebSocketDecoder decoder(options);
    std::vector<Seen> seen;
    feed(decoder, bytes, seen);
    return seen;
}

// A frame with any bits at all, masked, with the length in its shortest form.
std::string frame(std::uint8_t first, std::string_view payload, Mask mask = kMask) {
    std::string out;
    append_frame(out, Opcode::kText, payload, mask);
    out[0] = static_cast<char>(first);
    return out;
}

std::string violation(const std::string& bytes, std::uint16_t code,
                      const WebSocketDecoder::Options& options = {}) {
    const std::vector<Seen> seen = decode(bytes, options);
    if (seen.empty()) return "nothing seen";
    if (seen.back().kind != Kind::kViolation)
        return fmt::format("last event is {}", static_cast<int>(seen.back().kind));
    if (seen.back().code != code)
        return fmt::format("code {}: {}", seen.back().code, seen.back().payload);
    return seen.back().payload.empty() ? "no reason" : "";
}

TEST(WebSocketDecoder, AWholeFrameIsAViewIntoTheInput) {
    std::string bytes = frame(0x81, "hello") + frame(0x82, "\xff\x00"s);
    std::span<char> in(bytes);
    WebSocketDecoder decoder({});
    const WebSocketEvent text = decoder.next(in);
    EXPECT_EQ(text.kind, Kind::kText);
    EXPECT_EQ(text.payload, "hello");
    EXPECT_EQ(text.payload.data(), bytes.data() + 6);
    const WebSocketEvent binary = decoder.next(in);
    EXPECT_EQ(binary.kind, Kind::kBinary);
    EXPECT_EQ(binary.payload, "\xff\x00"s);
    EXPECT_EQ(decoder.next(in).kind, Kind::kNeedMore);
    EXPECT_TRUE(in.empty());
    EXPECT_EQ(decoder.buffered_bytes(), 0U);
}

TEST(WebSocketDecoder, FragmentsAreJoinedAndControlFramesMayComeBetweenThem) {
    const std::string bytes = frame(0x01, "Gr\xc3") + frame(0x89, "are you there") +
                              frame(0x00, "\xbc") + frame(0x8a, "") + frame(0x80, "n");
    const std::vector<Seen> expected = {
        {Kind::kPing, 0, "are you there"}, {Kind::kPong, 0, ""}, {Kind::kText, 0, "Gr\xc3\xbcn"}};
    EXPECT_EQ(decode(bytes), expected);
}

TEST(WebSocketDecoder, EmptyMessagesAndEmptyFragmentsAreFine) {
    const std::vector<Seen> expected = {
        {Kind::kText, 0, ""}, {Kind::kBinary, 0, ""}, {Kind::kText, 0, "x"}};
    EXPECT_EQ(decode(frame(0x81, "") + frame(0x02, "") + frame(0x00, "") + frame(0x80, "") +
                     frame(0x01, "") + frame(0x80, "x")),
              expected);
}

TEST(WebSocketDecoder, LengthsOfEveryFormAreRead) {
    for (const std::size_t size : {0U, 1U, 125U, 126U, 127U, 65'535U, 65'536U, 70'001U}) {
        const std::string payload(size, 'p');
        EXPECT_EQ(decode(frame(0x81, payload)), (std::vector<Seen>{{Kind::kText, 0, payload}}))
            << size;
    }
}

TEST(WebSocketDecoder, ABrokenFrameIsAProtocolError) {
    const std::string message_first = frame(0x01, "a");
    const struct {
        std::string_view name;
        std::string bytes;
    } cases[] = {
        {"not masked", frame(0x81, "a", {})},
        {"an empty frame that is not masked", frame(0x81, "", {})},
        {"RSV1 without compression", frame(0xc1, "a")},
        {"RSV2", frame(0xa1, "a")},
        {"RSV3", frame(0x91, "a")},
        {"opcode 3", frame(0x83, "a")},
        {"opcode 7", frame(0x87, "a")},
        {"opcode 11", frame(0x8b, "a")},
        {"opcode 15", frame(0x8f, "a")},
        {"a fragmented ping", frame(0x09, "a")},
        {"a fragmented close", frame(0x08, "")},
        {"a ping of 126 bytes", frame(0x89, std::string(126, 'a'))},
        {"a continuation of nothing", frame(0x80, "a")},
        {"a continuation after the end", frame(0x81, "a") + frame(0x80, "a")},
        {"text within a message", message_first + frame(0x81, "a")},
        {"binary within a message", message_first + frame(0x82, "a")},
        {"16 bits for 125 bytes", "\x81\xfe\x00\x7d"s + "mask"},
        {"64 bits for 65535 bytes", "\x81\xff\x00\x00\x00\x00\x00\x00\xff\xff"s + "mask"},
        {"a length with its highest bit", "\x81\xff\x80\x00\x00\x00\x00\x00\x00\x00"s + "mask"},
        {"a close with half a code", frame(0x88, "\x03")},
    };
    for (const auto& c : cases) EXPECT_EQ(violation(c.bytes, 1002), "") << c.name;
}

TEST(WebSocketDecoder, ABadFirstByteIsRefusedBeforeTheRestArrives) {
    EXPECT_EQ(violation("\x83\x80"s, 1002), "");
    EXPECT_EQ(violation("\x81\x7f"s, 1002), "");
}

TEST(WebSocketDecoder, AClientRefusesMaskedFrames) {
    const WebSocketDecoder::Options client{.role = Role::kClient};
    EXPECT_EQ(violation(frame(0x81, "a"), 1002, client), "");
    EXPECT_EQ(decode(frame(0x81, "a", {}), client), (std::vector<Seen>{{Kind::kText, 0, "a"}}));
}

TEST(WebSocketDecoder, TextMustBeUtf8AsAWhole) {
    for (const std::string& bad :
         {"\xff"s, "\xc3"s, "\xc0\x80"s, "\xed\xa0\x80"s, "\xf4\x90\x80\x80"s, "ok\xe2\x82"s}) {
        EXPECT_EQ(violation(frame(0x81, bad), 1007), "") << testing::PrintToString(bad);
        EXPECT_EQ(violation(frame(0x01, bad) + frame(0x80, ""), 1007), "")
            << testing::PrintToString(bad);
        EXPECT_EQ(decode(frame(0x82, bad)).at(0).kind, Kind::kBinary);
    }
    EXPECT_EQ(decode(frame(0x81, "\xf0\x9f\xa6\x80 \xed\x9f\xbf \xef\xbf\xbf")).at(0).kind,
              Kind::kText);
}

TEST(WebSocketDecoder, ACloseGivesCodeAndReason) {
    const auto close = [](std::uint16_t code, std::string_view reason) {
        std::string out;
        append_close(out, code, reason, kMask);
        return out;
    };
    EXPECT_EQ(decode(close(1000, "bye")), (std::vector<Seen>{{Kind::kClose, 1000, "bye"}}));
    EXPECT_EQ(decode(frame(0x88, "")), (std::vector<Seen>{{Kind::kClose, 1005, ""}}));
    for (const std::uint16_t good : {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012,
                                     1013, 1014, 3000, 3999, 4000, 4401, 4999}) {
        EXPECT_EQ(decode(close(good, "")), (std::vector<Seen>{{Kind::kClose, good, ""}}));
    }
    for (const std::uint16_t bad :
         {0, 1, 999, 1004, 1006, 1015, 1016, 1999, 2000, 2999, 5000, 65535}) {
        EXPECT_EQ(violation(close(bad, ""), 1002), "") << bad;
    }
    EXPECT_EQ(violation(close(1000, "\xff"), 1007), "");
}

TEST(WebSocketDecoder, AfterTheEndEverythingIsSwallowed) {
    EXPECT_EQ(decode(frame(0x88, "") + frame(0x81, "late")).size(), 1U);
    EXPECT_EQ(decode(frame(0x83, "") + frame(0x81, "late")).size(), 1U);
}

TEST(WebSocketDecoder, TheMessageLimitHoldsOnBothSidesAndBeforeThePayload) {
    const WebSocketDecoder::Options limited{.max_message_bytes = 1000};
    EXPECT_EQ(decode(frame(0x81, std::string(1000, 'a')), limited).at(0).kind, Kind::kText);
    const auto excess = [&](const std::string& bytes) { return decode(bytes, limited); };
    EXPECT_EQ(excess(frame(0x81, std::string(1001, 'a'))),
              (std::vector<Seen>{{Kind::kExcess, 1, std::string(1001, 'a')}}));
    EXPECT_EQ(excess(frame(0x81, std::string(1001, 'a')).substr(0, 8)),
              (std::vector<Seen>{{Kind::kExcess, 0, ""}}));
    EXPECT_EQ(decode(frame(0x01, std::string(999, 'a')) + frame(0x80, "b"), limited).at(0).kind,
              Kind::kText);
    EXPECT_EQ(excess(frame(0x01, std::string(999, 'a')) + frame(0x80, "bc")),
              (std::vector<Seen>{{Kind::kExcess, 1, std::string(999, 'a') + "bc"}}));
    EXPECT_EQ(excess(frame(0x01, std::string(999, 'a')) + frame(0x00, "bc").substr(0, 6)),
              (std::vector<Seen>{{Kind::kExcess, 0, std::string(999, 'a')}}));
}

TEST(WebSocketDecoder, AFrameFarBeyondTheLimitIsRefusedByItsLengthAlone) {
    const WebSocketDecoder::Options limited{.max_message_bytes = 1000};
    const auto head = [](std::uint16_t length) {
        return frame(0x81, std::string(length, 'a')).substr(0, 8);
    };
    EXPECT_EQ(decode(head(16'015), limited).at(0).kind, Kind::kExcess);
    const std::vector<Seen> seen = decode(head(16'016), limited);
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].kind, Kind::kViolation);
    EXPECT_EQ(seen[0].code, close_code::kTooBig);
}

TEST(WebSocketDecoder, BehindAMessageThatIsTooLargeTheNextOnesCome) {
    const WebSocketDecoder::Options limited{.max_message_bytes = 1000};
    const std::string large = frame(0x01, std::string(600, 'a')) + frame(0x89, "ping") +
                              frame(0x00, std::string(600, 'b')) + frame(0x80, std::string(5, 'c'));
    EXPECT_EQ(decode(large + frame(0x81, "next") + large, limited),
              (std::vector<Seen>{
                  {Kind::kPing, 0, "ping"},
                  {Kind::kExcess, 1, std::string(600, 'a') + std::string(600, 'b') + "ccccc"},
                  {Kind::kText, 0, "next"},
                  {Kind::kPing, 0, "ping"},
                  {Kind::kExcess, 1, std::string(600, 'a') + std::string(600, 'b') + "ccccc"}}));
    WebSocketDecoder decoder(limited);
    std::vector<Seen> seen;
    for (int i = 0; i < 100; ++i) {
        feed(decoder, frame(i == 0 ? 0x01 : 0x00, std::string(900, 'x')), seen);
        EXPECT_LE(decoder.buffered_bytes(), 1000U);
    }
}

TEST(WebSocketDecoder, APartialMessageIsKeptAndGivenBackAfterDelivery) {
    const std::string bytes = frame(0x81, std::string(5000, 'a'));
    WebSocketDecoder decoder({});
    std::vector<Seen> seen;
    feed(decoder, bytes.substr(0, 3000), seen);
    EXPECT_TRUE(seen.empty());
    EXPECT_EQ(decoder.buffered_bytes(), 2992U);
    feed(decoder, bytes.substr(3000), seen);
    EXPECT_EQ(seen, (std::vector<Seen>{{Kind::kText, 0, std::string(5000, 'a')}}));
    EXPECT_EQ(decoder.buffered_bytes(), 0U);
}

// A stream of well-formed and broken frames, made by a seed.
std::string random_stream(std::mt19937& random, Role role, MessageDeflater* deflater) {
    std::string out;
    const Mask mask = role == Role::kServer ? Mask(random()) : Mask{};
    for (unsigned frames = 1 + random() % 8; frames > 0; --frames) {
        const std::string payload(random() % 4 == 0 ? random() % 70'000 : random() % 300,
                                  static_cast<char>('a' + random() % 26));
        switch (random() % 8) {
            case 0: append_frame(out, Opcode::kPing, payload.substr(0, 125), mask); break;
            case 1: append_frame(out, Opcode::kBinary, payload, mask); break;
            case 2: {  // in three fragments with a pong inside
                const std::size_t a = payload.size() / 3;
                out += frame(0x01, payload.substr(0, a), mask);
                append_frame(out, Opcode::kPong, "pong", mask);
                out += frame(0x00, payload.substr(a, a), mask) +
                       frame(0x80, payload.substr(2 * a), mask);
                break;
            }
            case 3:
                if (random() % 4 == 0) append_close(out, 1000, "bye", mask);
                break;
            case 4:
                if (random() % 4 == 0)
                    out += frame(static_cast<std::uint8_t>(random()), payload, mask);
                break;
            case 5:
                if (deflater) {
                    std::string small;
                    deflater->deflate(payload, 15, small);
                    append_frame(out, Opcode::kText, small, mask, Compressed::kYes);
                }
                break;
            default: append_frame(out, Opcode::kText, payload, mask); break;
        }
    }
    return out;
}

TEST(WebSocketDecoder, HowTheBytesAreCutMakesNoDifference) {
    constexpr unsigned kSeed = 1;
    std::mt19937 random(kSeed);
    MessageInflater inflater;
    MessageDeflater deflater;
    for (int run = 0; run < 400; ++run) {
        const Role role = random() % 2 == 0 ? Role::kServer : Role::kClient;
        const bool compress = random() % 2 == 0;
        const std::string stream = random_stream(random, role, compress ? &deflater : nullptr);
        const WebSocketDecoder::Options options{
            .role = role, .max_message_bytes = 60'000, .inflater = compress ? &inflater : nullptr};
        const std::vector<Seen> whole = decode(stream, options);
        for (const std::size_t most : {std::size_t{1}, std::size_t{7}, std::size_t{5000}}) {
            if (most == 1 && stream.size() > 20'000) continue;
            WebSocketDecoder decoder(options);
            std::vector<Seen> pieces;
            for (std::size_t at = 0; at < stream.size();) {
                const std::size_t size = 1 + random() % most;
                feed(decoder, stream.substr(at, size), pieces);
                at += size;
            }
            ASSERT_EQ(pieces, whole)
                << "seed " << kSeed << ", run " << run << ", pieces of at most " << most;
        }
    }
}

}  // namespace
}  // namespace crab::net
