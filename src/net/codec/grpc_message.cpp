#include "net/codec/grpc_message.hpp"

#include "net/codec/grpc_status.hpp"
#include "net/codec/gzip.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace crab::net {
namespace {

constexpr std::string_view kHex = "0123456789ABCDEF";
constexpr std::size_t kMostTimeoutDigits = 8;

bool is_plain(char c) { return c >= 0x20 && c <= 0x7e && c != '%'; }

int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

struct TimeoutUnit {
    char letter;
    std::int64_t nanoseconds;
};
constexpr std::array<TimeoutUnit, 6> kTimeoutUnits{{{'n', 1},
                                                    {'u', 1'000},
                                                    {'m', 1'000'000},
                                                    {'S', 1'000'000'000},
                                                    {'M', 60'000'000'000},
                                                    {'H', 3'600'000'000'000}}};

}  // namespace

std::string_view text_of(GrpcStatus status) {
    static constexpr std::array<std::string_view, 17> kTexts{
        "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"};
    return kTexts[static_cast<std::size_t>(status)];
}

GrpcStatus parse_grpc_status(std::string_view text) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number > 16)
        return GrpcStatus::kUnknown;
    return static_cast<GrpcStatus>(number);
}

GrpcFrame read_grpc_frame(std::string_view body, std::size_t most_bytes) {
    if (body.empty()) return {};
    const bool compressed = body[0] == 1;
    if (body[0] != 0 && !compressed)
        return {.kind = GrpcFrame::Kind::kNoFlag, .size = 0, .message = {}};
    if (body.size() < kGrpcPrefix) return {};
    std::size_t length = 0;
    for (std::size_t i = 1; i < kGrpcPrefix; ++i)
        length = length << 8 | static_cast<std::uint8_t>(body[i]);
    if (length > most_bytes)
        return {.kind = GrpcFrame::Kind::kTooLarge, .size = kGrpcPrefix + length, .message = {}};
    if (body.size() - kGrpcPrefix < length)
        return {.kind = GrpcFrame::Kind::kNeedMore, .size = kGrpcPrefix + length, .message = {}};
    return {.kind = GrpcFrame::Kind::kMessage,
            .size = kGrpcPrefix + length,
            .message = body.substr(kGrpcPrefix, length),
            .compressed = compressed};
}

std::size_t begin_grpc_frame(std::string& out) {
    out.append(kGrpcPrefix, '\0');
    return out.size();
}

void end_grpc_frame(std::string& out, std::size_t begun) {
    const std::size_t length = out.size() - begun;
    for (std::size_t i = 0; i < 4; ++i) out[begun - 1 - i] = static_cast<char>(length >> (8 * i));
}

bool pack_grpc_frame(std::string& out, std::size_t begun) {
    // less is not worth it; more would hold the loop up
    constexpr std::size_t kLeast = 1024, kMost = std::size_t{1} << 20;
    const std::size_t size = out.size() - begun;
    std::string packed;
    if (size < kLeast || size > kMost ||
        !gzip(std::string_view(out).substr(begun), size - size / 4, packed))
        return false;
    out.replace(begun, size, packed);
    end_grpc_frame(out, begun);
    out[begun - kGrpcPrefix] = 1;
    return true;
}

bool accepts_gzip(std::string_view accepted) {
    while (!accepted.empty()) {
        const std::size_t comma = std::min(accepted.find(','), accepted.size());
        std::string_view name = accepted.substr(0, comma);
        while (name.starts_with(' ')) name.remove_prefix(1);
        while (name.ends_with(' ')) name.remove_suffix(1);
        if (name == kGrpcGzip) return true;
        accepted.remove_prefix(std::min(comma + 1, accepted.size()));
    }
    return false;
}

std::string grpc_message_text(std::string_view message) {
    std::string text;
    text.reserve(message.size());
    for (const char c : message) {
        if (is_plain(c)) {
            text += c;
        } else {
            const auto byte = static_cast<std::uint8_t>(c);
            text += {'%', kHex[byte >> 4], kHex[byte & 15]};
        }
    }
    return text;
}

std::string parse_grpc_message(std::string_view text) {
    std::string message;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const int high = text[i] == '%' && i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
        const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
        if (low < 0) {
            message += text[i];
            continue;
        }
        message += static_cast<char>(high << 4 | low);
        i += 2;
    }
    return message;
}

std::optional<std::chrono::nanoseconds> parse_grpc_timeout(std::string_view text) {
    if (text.size() < 2 || text.size() > kMostTimeoutDigits + 1) return std::nullopt;
    std::int64_t count = 0;
    for (const char c : text.substr(0, text.size() - 1)) {
        if (c < '0' || c > '9') return std::nullopt;
        count = count * 10 + (c - '0');
    }
    for (const TimeoutUnit& unit : kTimeoutUnits) {
        if (unit.letter != text.back()) continue;
        const std::int64_t most = std::chrono::nanoseconds::max().count() / unit.nanoseconds;
        return std::chrono::nanoseconds(count > most ? std::chrono::nanoseconds::max().count()
                                                     : count * unit.nanoseconds);
    }
    return std::nullopt;
}

std::string grpc_timeout_text(std::chrono::nanoseconds timeout) {
    constexpr std::int64_t kMost = 99'999'999;
    const std::int64_t ns = std::max<std::int64_t>(timeout.count(), 0);
    for (const TimeoutUnit& unit : kTimeoutUnits) {
        const std::int64_t count = ns / unit.nanoseconds + (ns % unit.nanoseconds != 0 ? 1 : 0);
        if (count <= kMost) return std::to_string(count) + unit.letter;
    }
    return "99999999H";
}

}  // namespace crab::net
