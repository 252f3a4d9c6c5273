#include "crab/device.hpp"

#include "sdk/private_file.hpp"
#include "sdk/test_gateway.hpp"

#include <latch>

#include <sys/stat.h>

namespace crab {
namespace {

using namespace std::chrono_literals;
using sdk::test::FakeGateway;

constexpr const char* kObject = R"({"type":"object"})";

std::string text(const json::Value& frame, std::string_view name) {
    const json::Value* value = frame.find(name);
    return value != nullptr && value->as_string() != nullptr ? *value->as_string() : "";
}

/// Events of a device, for the test's thread to wait on.
class Events {
public:
    auto recorder() {
        return [this](const DeviceEvent& event) {
            const std::scoped_lock lock(mutex_);
            seen_.push_back(event);
            changed_.notify_all();
        };
    }
    DeviceEvent wait_for(DeviceEvent::Kind kind) {
        std::unique_lock lock(mutex_);
        while (true) {
            while (!seen_.empty()) {
                const DeviceEvent event = seen_.front();
                seen_.pop_front();
                if (event.kind == kind) return event;
            }
            if (changed_.wait_for(lock, 20s) == std::cv_status::timeout) {
                ADD_FAILURE() << "the event did not come";
                return {};
            }
        }
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<DeviceEvent> seen_;
};

TEST(Device, AnswersCallsWithTextJsonAndErrors) {
    FakeGateway gateway;
    Events events;
    Device device({.gateway = gateway.url("ws"),
                   .token = "t1",
                   .name = "Kitchen",
                   .on_event = events.recorder()});
    device.tool("greet", "Says hello", kObject, [](const ToolRequest& request) {
        return "Hello, " + request.text("name").value_or("you");
    });
    device.tool("measure", "Measures", kObject,
                [](const ToolRequest&) { return ToolAnswer::json(R"({"celsius":21.5})"); });
    device.tool("refuse", "Refuses", kObject, [](const ToolRequest&) {
        return ToolAnswer::error("UNAVAILABLE", "the sensor is asleep");
    });
    device.tool("crash", "Throws", kObject,
                [](const ToolRequest&) -> ToolAnswer { throw std::runtime_error("oops"); });
    device.start();

    const DeviceEvent connected = events.wait_for(DeviceEvent::Kind::kConnected);
    EXPECT_EQ(connected.tools, 4u);
    EXPECT_EQ(connected.device, "kitchen");
    gateway.request("c1", "greet", R"({"name":"Ada"})");
    EXPECT_EQ(text(gateway.wait_for("tool_result"), "output"), "Hello, Ada");
    gateway.request("c2", "measure");
    EXPECT_EQ(*gateway.wait_for("tool_result").find("output")->find("celsius"), json::Value(21.5));
    gateway.request("c3", "refuse");
    EXPECT_EQ(text(gateway.wait_for("tool_error"), "error"), "UNAVAILABLE: the sensor is asleep");
    gateway.request("c4", "crash");
    EXPECT_TRUE(text(gateway.wait_for("tool_error"), "error").starts_with("INTERNAL: "));
    EXPECT_EQ(events.wait_for(DeviceEvent::Kind::kNotice).message,
              "crash: the handler threw: oops");
    gateway.request("c5", "greet");
    EXPECT_EQ(text(gateway.wait_for("tool_result"), "output"), "Hello, you");

    device.stop();
    EXPECT_TRUE(device.wait().good());
    const net::CloseInfo close = gateway.wait_for_close();
    EXPECT_EQ(close.code, 1000);
    EXPECT_TRUE(close.peer_initiated);
}

TEST(Device, AnswersLaterFromAnyThreadAndHearsTheFirstAnswerOnly) {
    FakeGateway gateway;
    Events events;
    Device device({.gateway = gateway.url("ws"),
                   .on_event = events.recorder(),
                   .parallel_handlers = 1,
                   .queued_calls = 1});
    std::mutex mutex;
    std::vector<AnswerLater> waiting;
    const auto keep = [&](const ToolRequest&, AnswerLater answer) {
        const std::scoped_lock lock(mutex);
        waiting.push_back(std::move(answer));
    };
    const auto broken = [](const ToolRequest&, const AnswerLater&) {
        throw std::runtime_error("oops");
    };
    const auto at_once = [](const ToolRequest& request, const AnswerLater& answer) {
        answer(request.args());
    };
    device.set_tools(
        {{.name = "later", .description = "Later", .schema = kObject, .later = keep},
         {.name = "broken", .description = "Throws", .schema = kObject, .later = broken},
         {.name = "at_once", .description = "At once", .schema = kObject, .later = at_once}});
    device.start();
    events.wait_for(DeviceEvent::Kind::kConnected);
    gateway.request("c1", "at_once", R"({"a":1})");
    EXPECT_EQ(text(gateway.wait_for("tool_result"), "output"), R"({"a":1})");
    gateway.request("c2", "broken");
    EXPECT_TRUE(text(gateway.wait_for("tool_error"), "error").starts_with("INTERNAL: "));

    for (const char* id : {"c3", "c4", "c5"}) gateway.request(id, "later");
    EXPECT_EQ(text(gateway.wait_for("tool_error"), "id"), "c5")
        << "one runs, one waits, and the third is too much";
    const auto nth = [&](std::size_t n) {
        const std::scoped_lock lock(mutex);
        return waiting.at(n);
    };
    nth(1)("second");
    EXPECT_EQ(text(gateway.wait_for("tool_result"), "output"), "second");
    nth(0)("first");
    nth(0)("again");
    EXPECT_EQ(text(gateway.wait_for("tool_result"), "output"), "first");
    gateway.request("c6", "at_once");
    EXPECT_EQ(text(gateway.wait_for("tool_result"), "id"), "c6") << "`again` was dropped";
    device.stop();
    device.wait();
    nth(0)("when nobody is there any more");
}

TEST(Device, ComesBackAfter1012RegistersAgainAndResendsWhatWasNotAcknowledged) {
    FakeGateway gateway;
    Device device({.gateway = gateway.url("ws")});
    device.tool("greet", "Says hello", kObject, [](const ToolRequest&) { return "Hello"; });
    device.start();
    gateway.wait_for("register_tools");
    gateway.request("c1", "greet");
    EXPECT_EQ(text(gateway.wait_for("tool_result"), "id"), "c1");
    gateway.close(1012, "restart");
    EXPECT_EQ(text(gateway.wait_for("connect"), "session_id"), "s 1");
    EXPECT_EQ(gateway.wait_for("register_tools").find("tools")->as_array()->size(), 1u);
    EXPECT_EQ(text(gateway.wait_for("tool_result"), "id"), "c1");
    const auto targets = gateway.targets();
    EXPECT_EQ(targets[0], "/base/ws/chat");
    EXPECT_EQ(targets[1], "/base/ws/chat?session_id=s%201");
}

TEST(Device, ComesBackAfterABrokenLinkAndFinishesItsCalls) {
    FakeGateway gateway;
    Events events;
    std::latch go(1);
    Device device({.gateway = gateway.url("ws"), .on_event = events.recorder()});
    device.tool("slow", "Waits", kObject, [&](const ToolRequest&) {
        go.wait();
        return "done";
    });
    device.start();
    gateway.wait_for("register_tools");
    gateway.request("c1", "slow");
    gateway.wait_for("tool_call_accepted");
    gateway.break_link();
    EXPECT_GT(events.wait_for(DeviceEvent::Kind::kLost).retry_in, 0ms);
    gateway.wait_for("register_tools");
    go.count_down();
    EXPECT_EQ(text(gateway.wait_for("tool_result"), "output"), "done");
}

TEST(Device, StaysAwayAfter1000) {
    FakeGateway gateway;
    Device device({.gateway = gateway.url("ws")});
    device.start();
    gateway.wait_for("register_tools");
    gateway.close(1000, "not today");
    const DeviceEnd end = device.wait();
    EXPECT_EQ(end.reason, DeviceEnd::Reason::kClosedByGateway);
    EXPECT_NE(end.message.find("not today"), std::string::npos);
}

TEST(Device, StopsOn401UnlessANewTokenCanBeHad) {
    FakeGateway gateway;
    gateway.set_token("good");
    Device refused({.gateway = gateway.url("ws"), .token = "bad"});
    const DeviceEnd end = refused.run();
    EXPECT_EQ(end.reason, DeviceEnd::Reason::kRefused);
    EXPECT_NE(end.message.find("401"), std::string::npos);

    Device renewed({.gateway = gateway.url("ws"), .token = "bad", .new_token = [] {
                        return std::optional<std::string>("good");
                    }});
    renewed.start();
    gateway.wait_for("register_tools");
}

TEST(Device, RunsCallsInParallelAndCancelsOne) {
    FakeGateway gateway;
    std::latch both(2);
    std::promise<void> cancelled;
    Device device({.gateway = gateway.url("ws")});
    device.tool("meet", "Waits for another call", kObject, [&](const ToolRequest&) {
        both.arrive_and_wait();
        return "met";
    });
    device.tool("wait", "Waits to be cancelled", kObject, [&](const ToolRequest& request) {
        std::promise<void> told;
        request.on_cancel([&] { told.set_value(); });
        request.progress({.message = "waiting", .progress = 1});
        told.get_future().wait();
        cancelled.set_value();
        return "dropped";
    });
    device.start();
    gateway.wait_for("register_tools");
    gateway.request("c1", "meet");
    gateway.request("c2", "meet");
    gateway.wait_for("tool_result");
    gateway.wait_for("tool_result");
    gateway.request("c3", "wait");
    EXPECT_EQ(text(gateway.wait_for("tool_call_progress"), "message"), "waiting");
    gateway.send(R"({"type":"tool_call_cancel","id":"c3","reason":"cancelled"})");
    EXPECT_EQ(cancelled.get_future().wait_for(20s), std::future_status::ready);
    gateway.request("c4", "nothing");
    EXPECT_EQ(text(gateway.wait_for("tool_error"), "id"), "c4");  // and none for c3
}

TEST(Device, TellsChangesOfItsToolsInOneList) {
    FakeGateway gateway;
    Events events;
    Device device({.gateway = gateway.url("ws"), .on_event = events.recorder()});
    device.start();
    EXPECT_EQ(events.wait_for(DeviceEvent::Kind::kConnected).tools, 0u);
    gateway.wait_for("register_tools");
    for (const char* name : {"a", "b", "c"})
        device.tool(name, "A tool", kObject, [](const ToolRequest&) { return "x"; });
    EXPECT_TRUE(device.remove_tool("b"));
    EXPECT_FALSE(device.remove_tool("b"));
    const json::Value list = gateway.wait_for("register_tools");
    EXPECT_EQ(*list.find("replace"), json::Value(true));
    EXPECT_EQ(list.find("tools")->as_array()->size(), 2u);
    EXPECT_EQ(device.tool_count(), 2u);
}

TEST(Device, ReplacesItsWholeListInOneMessage) {
    FakeGateway gateway;
    Events events;
    Device device({.gateway = gateway.url("ws"), .on_event = events.recorder()});
    device.tool("old", "A tool", kObject, [](const ToolRequest&) { return "x"; });
    device.start();
    gateway.wait_for("register_tools");
    events.wait_for(DeviceEvent::Kind::kConnected);
    const auto refuse = [](const ToolRequest&) {
        return ToolAnswer::failure("[AUTH_REQUIRED] no consent");
    };
    device.set_tools({{"a", "A tool", kObject, refuse}, {"b", "A tool", kObject, refuse}});
    const json::Value list = gateway.wait_for("register_tools");
    EXPECT_EQ(*list.find("replace"), json::Value(true));
    EXPECT_EQ(list.find("tools")->as_array()->size(), 2u);
    EXPECT_THROW(device.set_tools({{"c", "A tool", kObject, refuse}, {"d", "", kObject, refuse}}),
                 std::invalid_argument);
    EXPECT_EQ(device.tool_count(), 2u);
    gateway.request("c1", "a");
    EXPECT_EQ(text(gateway.wait_for("tool_error"), "error"), "[AUTH_REQUIRED] no consent");
}

TEST(Device, PairsWithACodeAndKeepsTheTokenToItself) {
    std::string folder = (std::filesystem::temp_directory_path() / "crab-sdk-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    const std::string file = folder + "/state/token";
    FakeGateway gateway;
    gateway.set_token("fresh");
    {
        Device device(
            {.gateway = gateway.url("ws"), .pair_code = "1234-5678-9012", .token_file = file});
        device.start();
        gateway.wait_for("register_tools");
    }
    struct stat status{};
    ASSERT_EQ(::stat(file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    EXPECT_EQ(*sdk::read_private_file(file), "fresh\n");
    {
        Device device({.gateway = gateway.url("ws"), .token_file = file});
        device.start();
        gateway.wait_for("register_tools");
    }
    ::chmod(file.c_str(), 0644);
    Device careless({.gateway = gateway.url("ws"), .token_file = file});
    EXPECT_EQ(careless.run().reason, DeviceEnd::Reason::kInvalid);
    Device wrong({.gateway = gateway.url("ws"), .pair_code = "0000-0000-0000"});
    EXPECT_EQ(wrong.run().reason, DeviceEnd::Reason::kRefused);
    std::filesystem::remove_all(folder);
}

TEST(Device, SaysWhatIsWrongWithItsAddress) {
    for (const char* gateway :
         {"", "kitchen:42617", "ftp://kitchen", "ws://", "ws://kitchen?x=1"}) {
        Device device({.gateway = gateway});
        EXPECT_EQ(device.run().reason, DeviceEnd::Reason::kInvalid) << gateway;
    }
    Device tls({.gateway = "wss://127.0.0.1:1", .ca_file = "/nonexistent"});
    EXPECT_EQ(tls.run().reason, DeviceEnd::Reason::kInvalid);
}

TEST(Device, SendsNoTokenUnencryptedToAnotherMachineUnlessThatIsAllowed) {
    for (const char* gateway : {"ws://192.0.2.1:1", "http://10.0.0.1:1", "ws://kitchen.invalid"}) {
        const DeviceEnd end = Device({.gateway = gateway, .token = "t"}).run();
        EXPECT_EQ(end.reason, DeviceEnd::Reason::kInvalid) << gateway;
        EXPECT_NE(end.message.find("allow_plain"), std::string::npos) << end.message;
        EXPECT_EQ(pair_device(gateway, "0000-0000-0000").error().code, "INVALID_ARGS");
    }
    Device allowed({.gateway = "ws://kitchen.invalid", .reconnect = false, .allow_plain = true});
    EXPECT_EQ(allowed.run().reason, DeviceEnd::Reason::kLost);
    EXPECT_NE(pair_device("ws://kitchen.invalid", "0000-0000-0000", {}, true).error().code,
              "INVALID_ARGS");
}

TEST(Device, CanBeStoppedWhereverItIsAndStartedAgain) {
    FakeGateway gateway;
    Device device({.gateway = gateway.url("ws")});
    device.stop();
    for (int i = 0; i < 20; ++i) {
        device.start();
        EXPECT_THROW(device.start(), std::logic_error);
        if (i % 2 == 0) gateway.wait_for("connect");
        device.stop();
        EXPECT_TRUE(device.wait().good());
    }
}

TEST(Device, SpeaksOverAUnixSocket) {
    FakeGateway gateway(true);
    Device device({.gateway = gateway.unix_url()});
    device.start();
    gateway.wait_for("register_tools");
    EXPECT_EQ(gateway.targets()[0], "/ws/chat");
}

}  // namespace
}  // namespace crab
