#include "hosts/command/command_cgroup.hpp"

#include "base/process/test_folder.hpp"
#include "base/scope_exit.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include <unistd.h>

namespace crab::command {
namespace {

namespace fs = std::filesystem;

/// A tree of plain files in place of the kernel's: it shows which files are written, and what
/// becomes of what is read.
class CommandCgroupTest : public testing::Test {
protected:
    void put(const fs::path& file, std::string_view text) const {
        fs::create_directories((root / file).parent_path());
        std::ofstream(root / file) << text;
    }
    std::string get(const fs::path& file) const {
        std::ifstream stream(root / file);
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    CgroupPaths find(std::string_view membership) const {
        put("membership", membership);
        return CgroupPaths::find(root, root / "membership");
    }
    const TestFolder made;
    const fs::path root = made.path();
};

TEST_F(CommandCgroupTest, ADelegatedUnifiedGroupHandsItsControllersDown) {
    put("cgroup.controllers", "cpu memory pids\n");
    for (const char* file : {"cgroup.procs", "cgroup.subtree_control", "crab-gateway/cgroup.procs"})
        put(fs::path("crab.service") / file, "");
    put("crab.service/cgroup.controllers", "cpu io memory pids\n");
    const CgroupPaths places = find("0::/crab.service\n");
    EXPECT_EQ(places.unified, root / "crab.service");
    EXPECT_EQ(get("crab.service/crab-gateway/cgroup.procs"), "0");
    EXPECT_TRUE(places.any());
}

TEST_F(CommandCgroupTest, AUnifiedTreeWithoutControllersAndTheRootGroupAreLeftAlone) {
    put("unified/cgroup.controllers", "");
    EXPECT_FALSE(find("0::/\n").any());
    put("cgroup.controllers", "cpu memory pids\n");
    put("user.slice/cgroup.controllers", "cpu pids\n");
    EXPECT_FALSE(find("0::/user.slice\n").any());
}

TEST_F(CommandCgroupTest, TheOldTreeOfProcessNumbersIsFoundToo) {
    fs::create_directories(root / "pids/a");
    const CgroupPaths places = find("8:pids:/a\n3:cpu,cpuacct:/b\n0::/\n");
    EXPECT_EQ(places.pids, root / "pids/a");
}

TEST_F(CommandCgroupTest, TheOldTreeOfMemoryCountsAndTheNewOneComesFirst) {
    fs::create_directories(root / "memory/a");
    fs::create_directories(root / "pids/a");
    const CgroupPaths places = find("8:pids:/a\n4:memory:/a\n0::/\n");
    EXPECT_EQ(places.memory, root / "memory/a");
    EXPECT_TRUE(places.count_memory());
    EXPECT_FALSE(find("8:pids:/a\n0::/\n").count_memory());
    for (const char* file : {"cgroup.procs", "cgroup.subtree_control", "crab-gateway/cgroup.procs"})
        put(fs::path("unified/x") / file, "");
    put("unified/x/cgroup.controllers", "memory pids\n");
    const CgroupPaths both = find("8:pids:/a\n4:memory:/a\n0::/x\n");
    EXPECT_EQ(both.unified, root / "unified/x");
    EXPECT_TRUE(both.memory.empty() && both.pids.empty());
}

TEST_F(CommandCgroupTest, LookingFindsTheSameAndChangesNothing) {
    put("cgroup.controllers", "cpu memory pids\n");
    for (const char* file : {"cgroup.procs", "cgroup.subtree_control"})
        put(fs::path("crab.service") / file, "");
    put("crab.service/cgroup.controllers", "cpu io memory pids\n");
    put("membership", "0::/crab.service\n");
    put("crab.service/cgroup.procs", "7\n");
    EXPECT_EQ(CgroupPaths::look(root, root / "membership").unified, root / "crab.service");
    EXPECT_FALSE(fs::exists(root / "crab.service/crab-gateway"));
    put("crab.service/cgroup.procs", "7\n8\n");
    EXPECT_FALSE(CgroupPaths::look(root, root / "membership").count_memory())
        << "another process is in the group, which cannot hand down then";
    put("crab.service/cgroup.subtree_control", "memory pids\n");
    put("membership", "0::/crab.service/crab-gateway\n");
    EXPECT_EQ(CgroupPaths::look(root, root / "membership").unified, root / "crab.service")
        << "a gateway that runs there";
}

TEST_F(CommandCgroupTest, LimitsOfTheOldTreeAreWrittenAndMissingOnesAreTold) {
    for (const char* file : {"memory.limit_in_bytes", "memory.memsw.limit_in_bytes",
                             "memory.kmem.tcp.limit_in_bytes", "cgroup.procs"})
        put(fs::path("one") / file, "");
    put("one/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    const CommandCgroup group({.unified = {}, .pids = {}, .memory = root}, "one",
                              {.memory_bytes = 4096, .processes = 7});
    EXPECT_TRUE(group.is_good());
    EXPECT_TRUE(group.add(42));
    EXPECT_EQ(get("one/memory.limit_in_bytes"), "4096");
    EXPECT_EQ(get("one/memory.memsw.limit_in_bytes"), "4096");
    EXPECT_EQ(get("one/memory.kmem.tcp.limit_in_bytes"), "4096");
    EXPECT_EQ(get("one/cgroup.procs"), "42");
    EXPECT_TRUE(group.ran_out_of_memory());
    EXPECT_FALSE(CommandCgroup({.unified = root, .pids = {}}, "two", {.memory_bytes = 1}).is_good())
        << "there is no file to write the limit to";
    EXPECT_FALSE(CommandCgroup({.unified = root / "gone", .pids = {}}, "three", {}).is_good());
}

TEST_F(CommandCgroupTest, GroupsThatAKilledGatewayLeftAreRemovedUnlessTheyAreInUse) {
    const std::string of_another = fmt::format("pids/a/crab-{}-1", ::getppid());
    constexpr const char* kOfNobody = "pids/a/crab-2000000000-1";  // above every process id
    for (const char* folder : {kOfNobody, "pids/a/crab-gateway", "pids/a/other"})
        fs::create_directories(root / folder);
    fs::create_directories(root / of_another);
    put("pids/a/crab-2000000001-1/cgroup.procs", "42\n");
    (void)find("8:pids:/a\n");
    EXPECT_FALSE(fs::exists(root / kOfNobody));
    EXPECT_TRUE(fs::exists(root / of_another)) << "its command is not in it yet";
    for (const char* folder : {"pids/a/crab-2000000001-1", "pids/a/crab-gateway", "pids/a/other"})
        EXPECT_TRUE(fs::exists(root / folder)) << folder;
}

TEST_F(CommandCgroupTest, LimitsAreWrittenAndMetersRead) {
    for (const char* file :
         {"memory.max", "memory.swap.max", "pids.max", "cgroup.procs", "cgroup.kill"})
        put(fs::path("one") / file, "");
    put("one/cpu.stat", "usage_usec 1234567\nuser_usec 1000000\n");
    put("one/memory.events", "low 0\noom 1\noom_kill 1\n");
    const CommandCgroup group({.unified = root, .pids = {}}, "one",
                              {.memory_bytes = 4096, .processes = 7});
    EXPECT_TRUE(group.add(42));
    EXPECT_EQ(get("one/memory.max"), "4096");
    EXPECT_EQ(get("one/memory.swap.max"), "0");
    EXPECT_EQ(get("one/pids.max"), "7");
    EXPECT_EQ(get("one/cgroup.procs"), "42");
    EXPECT_EQ(group.cpu(), Milliseconds(1234));
    EXPECT_TRUE(group.ran_out_of_memory());
    group.kill();
    EXPECT_EQ(get("one/cgroup.kill"), "1");
}

TEST_F(CommandCgroupTest, WithoutAPlaceItDoesNothing) {
    const CommandCgroup group({}, "one", {});
    EXPECT_TRUE(group.add(42));
    EXPECT_EQ(group.cpu(), std::nullopt);
    EXPECT_FALSE(group.ran_out_of_memory());
}

}  // namespace
}  // namespace crab::command
