#include "json/schema/schema.hpp"
#include "json/value.hpp"
#include "sdk/device_tools.hpp"
#include "sdk/machine/command_tool.hpp"
#include "sdk/machine/machine_facts.hpp"
#include "sdk/machine/machine_tools.hpp"
#include "sdk/machine/presence_watch.hpp"
#include "sdk/test_gateway.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace crab::sdk {
namespace {

/// A made-up /proc and /sys.
class MachineTest : public testing::Test {
protected:
    MachineTest() {
        folder_ = (std::filesystem::temp_directory_path() / "crab-machine-XXXXXX").string();
        if (::mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("mkdtemp");
        roots = {.proc = folder_ + "/proc", .sys = folder_ + "/sys", .etc = folder_ + "/etc"};
        write(roots.proc / "meminfo",
              "MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:    600 kB\n");
        write(roots.proc / "uptime", "4711.28 9000.10\n");
        write(roots.etc / "os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n");
        add_process(1, "init", 100);
        add_process(77, "sh", 300);
        add_process(78, "bash", 200);
    }
    ~MachineTest() override { std::filesystem::remove_all(folder_); }

    static void write(const std::filesystem::path& file, std::string_view text) {
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    void add_process(int pid, const std::string& name, int kilobytes) {
        write(roots.proc / std::to_string(pid) / "status",
              "Name:\t" + name + "\nState:\tS (sleeping)\nVmRSS:\t     " +
                  std::to_string(kilobytes) + " kB\n");
    }
    void add_battery() {
        write(roots.sys / "class/power_supply/BAT0/type", "Battery\n");
        write(roots.sys / "class/power_supply/BAT0/capacity", "87\n");
        write(roots.sys / "class/power_supply/BAT0/status", "Discharging\n");
        write(roots.sys / "class/power_supply/AC/type", "Mains\n");
    }

    MachineRoots roots;

private:
    std::string folder_;
};

TEST_F(MachineTest, KnowsItsSystem) {
    const auto info = *json::Value::parse(MachineFacts(roots).device_info());
    EXPECT_EQ(*info.find("os"), json::Value("Debian GNU/Linux 12"));
    EXPECT_EQ(*info.resolve("/memory/total_bytes"), json::Value(1'024'000));
    EXPECT_EQ(*info.resolve("/memory/available_bytes"), json::Value(614'400));
    EXPECT_EQ(*info.find("uptime_seconds"), json::Value(4711));
    EXPECT_FALSE(info.find("hostname")->as_string()->empty());
}

TEST_F(MachineTest, ShowsABatteryOnlyWhereThereIsOne) {
    const MachineFacts facts(roots);
    EXPECT_FALSE(facts.has_battery());
    Device without({});
    add_machine_tools(without, roots);
    EXPECT_EQ(without.tool_count(), 4u);
    add_battery();
    Device with({});
    add_machine_tools(with, roots);
    EXPECT_EQ(with.tool_count(), 5u);
    EXPECT_EQ(facts.battery(),
              R"({"batteries":[{"name":"BAT0","percent":87,"status":"Discharging"}]})");
}

TEST_F(MachineTest, ItsPresenceIsTheChargeOfItsBatteries) {
    const MachineFacts facts(roots);
    EXPECT_EQ(facts.presence(), DevicePresence{}) << "without a battery nothing is known";
    add_battery();
    EXPECT_EQ(facts.presence(), (DevicePresence{.battery = 0.87, .charging = false}));
    write(roots.sys / "class/power_supply/BAT1/type", "Battery\n");
    write(roots.sys / "class/power_supply/BAT1/capacity", "13\n");
    write(roots.sys / "class/power_supply/BAT1/status", "Charging\n");
    EXPECT_EQ(facts.presence(), (DevicePresence{.battery = 0.5, .charging = true}));
}

TEST_F(MachineTest, ListsProcessesByMemoryWithLimitAndFilter) {
    const MachineFacts facts(roots);
    EXPECT_EQ(facts.processes("", 2),
              R"({"total":3,"processes":[{"pid":77,"name":"sh","state":"S","memory_bytes":307200},)"
              R"({"pid":78,"name":"bash","state":"S","memory_bytes":204800}]})");
    EXPECT_EQ(json::Value::parse(facts.processes("sh", 9))->find("processes")->as_array()->size(),
              2u);
}

TEST_F(MachineTest, MeasuresDisksAndRefusesBadPaths) {
    const MachineFacts facts(roots);
    EXPECT_TRUE(facts.disk_usage("/"));
    EXPECT_EQ(facts.disk_usage("tmp").error().code, ErrorCode::kInvalidArgs);
    EXPECT_EQ(facts.disk_usage("/no/such/path").error().code, ErrorCode::kInvalidArgs);
}

TEST_F(MachineTest, AGatewayIsToldWhenTheBatteryChanges) {
    add_battery();
    sdk::test::FakeGateway gateway;
    Device device({.gateway = gateway.url("ws")});
    const PresenceWatch watch(device, roots, std::chrono::milliseconds(20));
    device.start();
    EXPECT_EQ(*gateway.wait_for("presence").find("battery"), json::Value(0.87));
    write(roots.sys / "class/power_supply/BAT0/capacity", "86\n");
    EXPECT_EQ(*gateway.wait_for("presence").find("battery"), json::Value(0.86));
}

TEST(MachineTools, KeepTheirOwnSchemasOverAWire) {
    sdk::test::FakeGateway gateway;
    Device device({.gateway = gateway.url("ws")});
    add_machine_tools(device);
    ASSERT_TRUE(add_command_tool(device, "shout", "tr a-z A-Z"));
    ASSERT_TRUE(add_command_tool(device, "reflect", "cat"));
    ASSERT_TRUE(add_command_tool(device, "broken", "/bin/sh -c 'echo no luck >&2; exit 3'"));
    EXPECT_FALSE(add_command_tool(device, "bad name", "cat"));
    EXPECT_FALSE(add_command_tool(device, "cat", "cat 'x"));
    device.start();
    const json::Value list = gateway.wait_for("register_tools");
    int checked = 0;
    for (const json::Value& tool : *list.find("tools")->as_array()) {
        ASSERT_TRUE(json::Schema::compile(tool.find("parameters")->dump()));
        const json::Value* output = tool.find("output_schema");
        if (output == nullptr) continue;
        const auto schema = json::Schema::compile(output->dump());
        ASSERT_TRUE(schema) << schema.error().message;
        EXPECT_EQ(*tool.resolve("/annotations/read_only"), json::Value(true));
        gateway.request("c" + std::to_string(++checked), *tool.find("name")->as_string());
        const std::string answer = gateway.wait_for("tool_result").find("output")->dump();
        json::Parser parser;
        EXPECT_TRUE((*schema)->is_valid(parser.parse(answer)->element())) << answer;
    }
    EXPECT_GE(checked, 4);
    gateway.request("e1", "shout", R"({"text":"hello"})");
    EXPECT_EQ(*gateway.wait_for("tool_result").find("output"),
              json::Value::parse(R"({"TEXT":"HELLO"})").value());
    gateway.request("e2", "broken");
    EXPECT_EQ(*gateway.wait_for("tool_error").find("error"),
              json::Value("TOOL_FAILED: the command ended with status 3: no luck"));
}

}  // namespace
}  // namespace crab::sdk
