#include "net/codec/websocket_frame.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace crab::net {
namespace {

constexpr std::size_t kMaxHeader = 14;
constexpr std::size_t kGuessedHeader = 4;
constexpr std::uint8_t kFinBit = 0x80, kRsv1Bit = 0x40, kMaskedBit = 0x80;

// Writes the header without mask: 2, 4 or 10 bytes, the shortest that holds `size`.
std::size_t write_header(char* at, std::uint8_t first, std::uint8_t masked, std::uint64_t size) {
    at[0] = static_cast<char>(first);
    const std::size_t length_bytes = size < 126 ? 0 : size <= 0xffff ? 2 : 8;
    const std::uint64_t tag = length_bytes == 0 ? size : length_bytes == 2 ? 126 : 127;
    at[1] = static_cast<char>(masked | tag);
    for (std::size_t i = 0; i < length_bytes; ++i)
        at[2 + i] = static_cast<char>(size >> (8 * (length_bytes - 1 - i)));
    return 2 + length_bytes;
}

// Appends without the zero fill of resize(): the header and, behind it, the payload.
void append_masked(std::string& out, std::uint8_t first, std::string_view payload,
                   std::uint32_t mask) {
    char header[kMaxHeader];
    std::size_t size = write_header(header, first, kMaskedBit, payload.size());
    std::memcpy(header + size, &mask, sizeof mask);
    size += sizeof mask;
    out.append(header, size);
    const std::size_t start = out.size();
    out.append(payload);
    apply_mask(std::span(out).subspan(start), mask);
}

std::uint8_t first_byte(Opcode opcode, Compressed compressed) {
    return static_cast<std::uint8_t>(kFinBit | (compressed == Compressed::kYes ? kRsv1Bit : 0) |
                                     static_cast<std::uint8_t>(opcode));
}

}  // namespace

std::uint32_t apply_mask(std::span<char> bytes, std::uint32_t mask) {
    static_assert(std::endian::native == std::endian::little);
    const std::uint64_t wide = mask | (static_cast<std::uint64_t>(mask) << 32);
    char* at = bytes.data();
    std::size_t left = bytes.size();
    for (; left >= sizeof wide; left -= sizeof wide, at += sizeof wide) {
        std::uint64_t word;
        std::memcpy(&word, at, sizeof word);
        word ^= wide;
        std::memcpy(at, &word, sizeof word);
    }
    for (std::size_t i = 0; i < left; ++i)
        at[i] = static_cast<char>(at[i] ^ static_cast<char>(mask >> (8 * (i % 4))));
    return std::rotr(mask, static_cast<int>(8 * (left % 4)));
}

void append_frame(std::string& out, Opcode opcode, std::string_view payload, Mask mask,
                  Compressed compressed) {
    const std::uint8_t first = first_byte(opcode, compressed);
    if (mask) return append_masked(out, first, payload, *mask);
    char header[kMaxHeader];
    out.append(header, write_header(header, first, 0, payload.size()));
    out.append(payload);
}

void append_close(std::string& out, std::uint16_t code, std::string_view reason, Mask mask) {
    if (code == close_code::kNoStatus) return append_frame(out, Opcode::kClose, {}, mask);
    constexpr std::size_t kMaxReason = 123;
    if (reason.size() > kMaxReason) {
        std::size_t size = kMaxReason;
        while (size > 0 && (static_cast<unsigned char>(reason[size]) & 0xc0) == 0x80) --size;
        reason = reason.substr(0, size);
    }
    char payload[2 + kMaxReason] = {static_cast<char>(code >> 8), static_cast<char>(code)};
    std::ranges::copy(reason, payload + 2);
    append_frame(out, Opcode::kClose, {payload, 2 + reason.size()}, mask);
}

OpenFrame begin_frame(std::string& out, Opcode opcode, Mask mask) {
    const OpenFrame frame{.start = out.size(), .opcode = opcode, .mask = mask};
    out.append(kGuessedHeader + (mask ? sizeof *mask : 0), '\0');
    return frame;
}

void finish_frame(std::string& out, const OpenFrame& frame) {
    const std::size_t mask_bytes = frame.mask ? sizeof *frame.mask : 0;
    const std::size_t size = out.size() - frame.start - kGuessedHeader - mask_bytes;
    char header[kMaxHeader];
    const std::size_t header_bytes = write_header(header, first_byte(frame.opcode, Compressed::kNo),
                                                  frame.mask ? kMaskedBit : 0, size);
    if (header_bytes < kGuessedHeader) out.erase(frame.start, kGuessedHeader - header_bytes);
    if (header_bytes > kGuessedHeader) out.insert(frame.start, header_bytes - kGuessedHeader, '\0');
    char* at = out.data() + frame.start;
    std::memcpy(at, header, header_bytes);
    if (!frame.mask) return;
    std::memcpy(at + header_bytes, &*frame.mask, mask_bytes);
    apply_mask({at + header_bytes + mask_bytes, size}, *frame.mask);
}

}  // namespace crab::net
