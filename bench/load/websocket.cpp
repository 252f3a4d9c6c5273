#include "load/websocket.hpp"

#include "load/payload.hpp"

#include <array>
#include <cstring>
#include <stdexcept>

namespace crab::bench {
namespace {

// A mask only has to be unpredictable to a page that chooses the payload; here a cheap generator
// does.
std::uint32_t next_mask() {
    static std::uint64_t state = 0x9e3779b97f4a7c15;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<std::uint32_t>(state >> 16);
}

void mask(char* bytes, std::size_t size, std::uint32_t key) {
    const std::uint64_t wide = (static_cast<std::uint64_t>(key) << 32) | key;
    std::size_t at = 0;
    for (std::uint64_t word; at + 8 <= size; at += 8) {
        std::memcpy(&word, bytes + at, 8);
        word ^= wide;
        std::memcpy(bytes + at, &word, 8);
    }
    for (; at < size; ++at) bytes[at] ^= static_cast<char>(key >> (8 * (at % 4)));
}

void append_big_endian(std::string& out, std::uint64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
        out.push_back(static_cast<char>(value >> shift));
}

void send_text(Stream& stream, std::string_view text) {
    std::string frame;
    append_frame(frame, kText, std::array{text});
    stream.write(frame);
}

/// Drops frames from the front of `in` until a text frame holds `wanted`, reading as many bytes as
/// that takes.
void wait_for(Stream& stream, std::string& in, std::string_view wanted) {
    for (;;) {
        if (const auto frame = find_frame(in)) {
            const std::string text(frame->payload);
            const auto opcode = frame->opcode;
            in.erase(0, frame->size);
            if (opcode == kClose)
                throw std::runtime_error("the gateway closed the device's connection: " +
                                         (text.size() > 2 ? text.substr(2) : "no reason"));
            if (text.find(R"("type":"error")") != std::string::npos)
                throw std::runtime_error("the gateway answered the device: " + text);
            if (text.find(wanted) == std::string::npos) continue;
            if (text.find(R"("rejected")") != std::string::npos)
                throw std::runtime_error("the gateway refused the tool: " + text);
            return;
        }
        stream.read_more(in);
    }
}

}  // namespace

std::optional<ServerFrame> find_frame(std::string_view bytes) {
    if (bytes.size() < 2) return {};
    const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); };
    if (byte(1) & 0x80) throw std::runtime_error("a masked frame from a server");
    if (!(byte(0) & 0x80))
        throw std::runtime_error("a fragment: the load generator expects whole frames");
    std::size_t head = 2;
    std::uint64_t length = byte(1);
    if (length >= 126) {
        const std::size_t wide = length == 126 ? 2 : 8;
        head += wide;
        if (bytes.size() < head) return {};
        length = 0;
        for (std::size_t i = 2; i < head; ++i) length = length << 8 | byte(i);
    }
    if (bytes.size() < head + length) return {};
    return ServerFrame{.opcode = static_cast<std::uint8_t>(byte(0) & 0x0f),
                       .payload = bytes.substr(head, length),
                       .size = head + length};
}

void append_frame(std::string& out, std::uint8_t opcode, std::span<const std::string_view> parts) {
    std::size_t length = 0;
    for (const auto part : parts) length += part.size();
    out.push_back(static_cast<char>(0x80 | opcode));
    if (length < 126) {
        out.push_back(static_cast<char>(0x80 | length));
    } else {
        out.push_back(static_cast<char>(length <= 0xffff ? 0x80 | 126 : 0x80 | 127));
        append_big_endian(out, length, length <= 0xffff ? 2 : 8);
    }
    const std::uint32_t key = next_mask();
    out.append(reinterpret_cast<const char*>(&key), sizeof key);
    const std::size_t start = out.size();
    for (const auto part : parts) out.append(part);
    mask(out.data() + start, length, key);
}

std::string open_device(Stream& stream, const Address& gateway, const std::string& token,
                        const std::string& tool) {
    stream.write("GET /ws/chat HTTP/1.1\r\nHost: " + gateway.authority() +
                 "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: "
                 "13\r\nSec-WebSocket-Key: Y3JhYi1iZW5jaC1kZXZpYw==\r\n" +
                 (token.empty() ? "" : "Authorization: Bearer " + token + "\r\n") + "\r\n");
    std::string in;
    std::size_t end = 0;
    while ((end = in.find("\r\n\r\n")) == std::string::npos) stream.read_more(in);
    if (!in.starts_with("HTTP/1.1 101 "))
        throw std::runtime_error("the upgrade was refused: " + in);
    in.erase(0, end + 4);
    wait_for(stream, in, R"("session_start")");
    send_text(stream, R"({"type":"connect","v":1,"device_name":"bench"})");
    wait_for(stream, in, R"("connected")");
    if (!tool.empty()) {
        send_text(stream, register_tools(tool));
        wait_for(stream, in, R"("tools_registered")");
    }
    return in;
}

}  // namespace crab::bench
