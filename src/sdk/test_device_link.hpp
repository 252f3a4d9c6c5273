#pragma once

#include "base/test_clock.hpp"
#include "sdk/device_link.hpp"

#include "json/value.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

/// A DeviceLink on a bench: what it asks for is written down, time stands still until a test moves
/// it.
namespace crab::sdk::test {

class FakePorts final : public DevicePorts {
public:
    void fetch_token(TokenNeed need) override { needs.push_back(need); }
    void dial(const std::string& token, const std::string& session_id) override {
        dials.push_back({token, session_id});
    }
    void send(std::string_view frame) override { sent.push_back(*json::Value::parse(frame)); }
    void close(std::uint16_t code, std::string_view) override { closed_with = code; }
    void abort() override {
        ++aborts;
        link->on_closed({});
    }
    SteadyTime last_heard() const override { return heard; }
    bool run(std::shared_ptr<CallState> call, std::shared_ptr<const DeviceTool>,
             std::optional<UploadTerms>) override {
        if (room == 0) return false;
        --room;
        running.push_back(std::move(call));
        return true;
    }
    void report(const DeviceEvent& event) override { events.push_back(event); }
    void ended(DeviceEnd why) override { end = std::move(why); }

    struct Dial {
        std::string token, session_id;
    };
    DeviceLink* link = nullptr;
    std::vector<TokenNeed> needs;
    std::vector<Dial> dials;
    std::vector<json::Value> sent;
    std::vector<std::shared_ptr<CallState>> running;
    std::vector<DeviceEvent> events;
    std::optional<DeviceEnd> end;
    std::uint16_t closed_with = 0;
    SteadyTime heard{};
    int room = 72;
    int aborts = 0;
};

class DeviceLinkTest : public testing::Test {
protected:
    DeviceLinkTest() {
        ports.link = &link;
        add_tool("read_thermometer");
    }

    void add_tool(const std::string& name) {
        tools.set(make_device_tool(name, "A tool", R"({"type":"object"})",
                                   [](const ToolRequest&) { return ToolAnswer("unused"); }, {}));
    }
    /// Moves time on and lets every alarm on the way ring at its moment.
    void advance(Milliseconds by) {
        for (Milliseconds gone{0}; gone < by; gone += Milliseconds(10)) {
            clock.advance(Milliseconds(10));
            timers.run_expired();
        }
    }
    void open() {
        ports.heard = clock.steady_now();
        link.on_open();
    }
    /// A link that is open and has said all that a gateway of ours says.
    void connect(std::string_view capabilities =
                     R"("register_tools.replace","tool_call_accepted","tool_call_progress")") {
        if (ports.needs.empty()) {
            link.start();
            link.on_token("t1");
        }
        open();
        link.on_text(R"({"type":"session_start","v":1,"session_id":"kitchen-7","resumed":false,)"
                     R"("message_count":0})");
        link.on_text(R"({"type":"connected","v":1,"message":"hello","max_message_bytes":100000,)"
                     R"("grace_ms":15000,"capabilities":[)" +
                     std::string(capabilities) + "]}");
        link.on_text(R"({"type":"tools_registered","count":1,"registered":1})");
        ports.sent.clear();
    }
    void request(const std::string& id, const std::string& tool = "read_thermometer",
                 const std::string& more = R"(,"args":{"room":"kitchen"})") {
        link.on_text(R"({"type":"tool_call_request","id":")" + id + R"(","name":")" + tool + "\"" +
                     more + "}");
    }
    void lose_link(std::uint16_t code = 1006, bool by_peer = false) {
        link.on_closed({.code = code, .reason = {}, .clean = by_peer, .peer_initiated = by_peer});
    }

    std::vector<json::Value> sent(std::string_view type) const {
        std::vector<json::Value> found;
        for (const json::Value& frame : ports.sent) {
            if (*frame.find("type") == json::Value(type)) found.push_back(frame);
        }
        return found;
    }
    static std::string text(const json::Value& frame, std::string_view name) {
        const json::Value* value = frame.find(name);
        return value != nullptr && value->as_string() != nullptr ? *value->as_string() : "";
    }

    FakeClock clock;
    TimerWheel timers{clock};
    IdSource random{clock, 42};
    DeviceTools tools;
    FakePorts ports;
    DeviceLink link{
        {.name = "Kitchen"}, {.clock = clock, .timers = timers, .random = random}, tools, ports};
};

}  // namespace crab::sdk::test
