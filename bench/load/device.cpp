#include "load/device.hpp"

#include "load/payload.hpp"

#include <array>
#include <cstdio>
#include <utility>

namespace crab::bench {

Device::Device(Loop& loop, Options options) : Connection(loop), options_(std::move(options)) {
    reconnect();
}

Device::Device(Loop& loop, Options options, int fd, std::string_view already_read)
    : Connection(loop), options_(std::move(options)) {
    open(fd, already_read);
}

void Device::reconnect() {
    close();
    Stream stream(options_.gateway, false);
    const std::string rest = open_device(stream, options_.gateway, options_.token, options_.tool);
    open(stream.release(), rest);
}

std::size_t Device::on_input(std::span<char> bytes) {
    const std::string_view all(bytes.data(), bytes.size());
    std::size_t used = 0;
    while (const auto frame = find_frame(all.substr(used))) {
        used += frame->size;
        if (frame->opcode == kText) on_text(frame->payload);
        if (frame->opcode == kPing) append_frame(outgoing(), kPong, std::array{frame->payload});
        if (frame->opcode == kClose)
            std::fprintf(stderr, "device: closed: %.*s\n", static_cast<int>(frame->payload.size()),
                         frame->payload.data());
    }
    return used;
}

void Device::on_text(std::string_view text) {
    constexpr std::string_view kId = R"("id":")";
    if (text.find("tool_call_request") > 64) {  // result_acknowledged, mostly
        if (text.find(R"("type":"error")") != std::string_view::npos)
            std::fprintf(stderr, "device: %.*s\n", static_cast<int>(text.size()), text.data());
        return;
    }
    ++calls_;
    if (!options_.answers) return;
    const auto start = text.find(kId) + kId.size();
    const auto id = text.substr(start, text.find('"', start) - start);
    const bool fails = options_.fail_every != 0 && calls_ % options_.fail_every == 0;
    const std::string_view end =
        fails ? R"(,"success":false,"error":"the bench device says no"})" : R"(,"success":true})";
    append_frame(outgoing(), kText,
                 std::array<std::string_view, 5>{R"({"type":"tool_result","id":")", id,
                                                 R"(","output":)", kResult, end});
}

void Device::on_closed() {
    ++lost_;
    reconnect();
}

}  // namespace crab::bench
