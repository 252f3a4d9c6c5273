// Any text messages a client may send, one in a line, through a real session while a call is out to
// it: nothing but whole JSON objects of a known type, without a null, comes back.

#include "adapters/clawseed/test_support.hpp"
#include "base/fuzz_check.hpp"

#include <algorithm>
#include <array>

namespace {

using namespace crab;
using namespace crab::clawseed;
using clawseed::test::World;

constexpr std::array<std::string_view, 9> kTypes{
    "session_start",       "connected", "tools_registered", "registered_tools", "tool_call_request",
    "result_acknowledged", "error",     "abort_ack",        "tool_call_cancel"};

/// A session whose other end the fuzzer holds, and one call that is out to it, whose id stands for
/// `<id>`.
struct Bench {
    World world;
    std::shared_ptr<clawseed::test::Client> client;
    std::shared_ptr<clawseed::test::CallProbe> call;
    std::string id;

    void prepare() {
        if (!client || client->closed) client = world.connect("fuzz");
        if (call && !call->outcome) return;
        world.send(
            client,
            R"({"type":"register_tools","replace":true,"tools":[{"name":"probe","description":"d",)"
            R"("parameters":{}}]})");
        client->frames.clear();
        call = world.start_call(world.owner, "probe");
        require(!call->outcome);
        id = clawseed::test::text_of(client->of("tool_call_request").at(0), "id");
        client->frames.clear();
    }
    std::string with_id(std::string_view text) const {
        std::string filled(text);
        for (std::size_t at = 0; (at = filled.find("<id>", at)) != std::string::npos;
             at += id.size())
            filled.replace(at, 4, id);
        return filled;
    }
};

/// Chats through a model are the unit tests' part; here a turn ends at once without one.
bool is_turn_frame(std::string_view type) {
    return type == "agent_start" || type == "agent_end" || type == "chunk" ||
           type == "chunk_reset" || type == "done" || type == "aborted";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMost = 16 << 10;
    if (size > kMost) return 0;
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    // the WebSocket decoder lets nothing else through
    if (!simdjson::validate_utf8(input.data(), input.size())) return 0;
    static Bench bench;
    bench.prepare();
    const std::string filled = bench.with_id(input);
    World& world = bench.world;
    world.loop.post([&] {
        std::string_view text = filled;
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
    bench.client->frames.clear();
    require(world.hub.connections() <= 1);
    return 0;
}
