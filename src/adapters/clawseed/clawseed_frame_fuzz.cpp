// Any text message a client may send, through a real session: the link stays or closes in order, nothing but whole JSON objects
// with a known type comes back, and another session works on.

#include "adapters/clawseed/test_support.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace {

using namespace crab;
using namespace crab::clawseed;
using clawseed::test::World;

void require(bool condition) {
    if (!condition) std::abort();
}

constexpr std::array<std::string_view, 9> kTypes{"session_start", "connected", "tools_registered", "registered_tools", "tool_call_request",
                                                 "result_acknowledged", "error", "abort_ack", "tool_call_cancel"};

/// A session whose other end the fuzzer holds, and one call that is out to it. Messages are taken in bunches: line by line.
struct Bench {
    World world;
    std::shared_ptr<clawseed::test::Client> client;
    std::size_t sessions = 0;

    void connect() {
        client = world.connect("fuzz");
        ++sessions;
    }
};

/// Chats through a model are the unit tests' part; here a turn ends at once without one.
bool is_turn_frame(std::string_view type) {
    return type == "agent_start" || type == "agent_end" || type == "chunk" || type == "chunk_reset" || type == "done" || type == "aborted";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMost = 16 << 10;
    if (size > kMost) return 0;
    static Bench bench;
    if (!bench.client || bench.client->closed) bench.connect();
    std::string_view text(reinterpret_cast<const char*>(data), size);
    if (!simdjson::validate_utf8(text.data(), text.size())) return 0;  // the WebSocket decoder lets nothing else through
    World& world = bench.world;
    bench.client->frames.clear();
    world.loop.post([&] {
        while (!text.empty()) {
            const std::size_t end = text.find('\n');
            bench.client->socket->send_text(text.substr(0, end));
            text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        }
    });
    bool read = false;
    for (int turn = 0; turn < 4; ++turn) world.loop.run_some(std::chrono::nanoseconds(0));
    world.loop.post([&] { read = true; });
    while (!read) world.loop.run_some(std::chrono::seconds(1));
    for (const auto& frame : bench.client->frames) {
        require(frame.is_object());
        const std::string type = clawseed::test::text_of(frame, "type");
        require(std::ranges::find(kTypes, type) != kTypes.end() || is_turn_frame(type));
        for (const auto& [name, value] : *frame.as_object()) require(!value.is_null());
    }
    require(world.hub.connections() <= 1);
    return 0;
}
