#include "base/process/child.hpp"

#include "base/process/file.hpp"
#include "base/process/pipe.hpp"
#include "base/process/test_folder.hpp"

#include <csignal>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace crab {
namespace {

constexpr int kPatienceMs = 20'000;

bool ends(const Child& child) {
    pollfd waiting{child.ended(), POLLIN, 0};
    return ::poll(&waiting, 1, kPatienceMs) == 1;
}

TEST(Child, TellsByItsPidfdThatItHasEndedAndHow) {
    Child child;
    ASSERT_EQ(child.start({.words = {"no-such-program-anywhere"}}), ENOENT);
    ASSERT_EQ(child.start({.words = {"/bin/sh", "-c", "exit 3"}}), 0);
    ASSERT_TRUE(ends(child));
    EXPECT_TRUE(child.has_ended());
    const auto end = child.try_reap();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->status(), 3);
    EXPECT_FALSE(child.is_there());
    EXPECT_FALSE(child.try_reap()) << "once";
}

TEST(Child, OneWithASessionOfItsOwnGoesOnWhenItIsLeft) {
    pid_t pid = 0;
    {
        Child child;
        ASSERT_EQ(child.start({.words = {"/bin/sleep", "600"}, .own_session = true}), 0);
        pid = child.pid();
        EXPECT_EQ(::getsid(pid), pid);
        child.leave();
        EXPECT_FALSE(child.is_there());
    }
    const Descriptor left = open_pidfd(pid);
    EXPECT_TRUE(signal_pidfd(left, 0)) << "its destructor kills no more";
    EXPECT_TRUE(signal_pidfd(left, SIGKILL));
    EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
}

TEST(Child, ASignalEndsItsGroup) {
    Child child;
    ASSERT_EQ(child.start({.words = {"/bin/sleep", "600"}}), 0);
    EXPECT_FALSE(child.has_ended());
    EXPECT_FALSE(child.try_reap());
    EXPECT_EQ(::getpgid(child.pid()), child.pid());
    child.kill_group(SIGTERM);
    ASSERT_TRUE(ends(child));
    const ChildEnd end = child.reap();
    EXPECT_EQ(end.signal, SIGTERM);
    EXPECT_EQ(end.status(), 128 + SIGTERM);
}

TEST(Child, InheritsWhatItWasGivenAndNothingElse) {
    Pipe said, kept, closed;
    ASSERT_TRUE(said.open() && kept.open() && closed.open());
    const std::array descriptors{kept.write_end.get(), -1};
    Child child;
    ASSERT_EQ(child.start({.words = {"sh", "-c",
                                     "echo $NAME; cat; ls /proc/self/fd >&" +
                                         std::to_string(kept.write_end.get())},
                           .file = "/bin/sh",
                           .environment = {"NAME=value", "PATH=/usr/bin:/bin"},
                           .standard = {-1, said.write_end.get(), -1},
                           .kept = descriptors}),
              0);
    said.write_end.close();
    ASSERT_TRUE(ends(child));
    EXPECT_EQ(child.reap().status(), 0);
    std::array<char, 512> text{};
    ASSERT_GT(::read(said.read_end.get(), text.data(), text.size() - 1), 0);
    EXPECT_STREQ(text.data(), "value\n") << "its standard input is empty";
    text.fill(0);
    ASSERT_GT(::read(kept.read_end.get(), text.data(), text.size() - 1), 0);
    const std::string listed = std::string("\n") + text.data();
    EXPECT_EQ(listed.find("\n" + std::to_string(closed.write_end.get()) + "\n"), std::string::npos);
}

TEST(Child, DiesWithTheThreadThatStartedItIfItIsToldTo) {
    Child missing, nowhere;
    EXPECT_EQ(missing.start({.words = {"no-such-program-anywhere"}, .dies_with_thread = true}),
              ENOENT);
    EXPECT_EQ(
        nowhere.start({.words = {"/bin/true"}, .folder = "/no/such", .dies_with_thread = true}),
        ENOENT);
    Pipe said;
    ASSERT_TRUE(said.open());
    Child child;
    int started = -1;
    std::thread([&] {
        started = child.start({.words = {"sh", "-c", "pwd; echo $NAME; exec sleep 600"},
                               .environment = {"NAME=value", "PATH=/usr/bin:/bin"},
                               .standard = {-1, said.write_end.get(), -1},
                               .folder = "/usr",
                               .dies_with_thread = true});
        std::array<char, 64> text{};
        ASSERT_EQ(::read(said.read_end.get(), text.data(), 5), 5);
        ASSERT_EQ(::read(said.read_end.get(), text.data() + 5, 6), 6);
        EXPECT_STREQ(text.data(), "/usr\nvalue\n");
        EXPECT_FALSE(child.has_ended());
        EXPECT_EQ(::getpgid(child.pid()), child.pid());
    }).join();
    ASSERT_EQ(started, 0);
    ASSERT_TRUE(ends(child));
    EXPECT_EQ(child.reap().signal, SIGKILL);
}

TEST(Child, WhatThisProcessWasStartedWithIsNotPassedOn) {
    for (const bool dies_with_thread : {false, true}) {
        Pipe said;
        ASSERT_TRUE(said.open());
        const Descriptor leaked(::open("/dev/null", O_RDONLY));  // open on exec
        ASSERT_TRUE(leaked.is_open());
        Child child;
        ASSERT_EQ(child.start({.words = {"/bin/ls", "/proc/self/fd"},
                               .standard = {-1, said.write_end.get(), -1},
                               .dies_with_thread = dies_with_thread}),
                  0);
        said.write_end.close();
        std::string text;
        char piece[256];
        for (ssize_t count = 0; (count = ::read(said.read_end.get(), piece, sizeof piece)) > 0;)
            text.append(piece, static_cast<std::size_t>(count));
        EXPECT_EQ(text, "0\n1\n2\n3\n") << "the fourth is the folder that ls reads";
        child.reap();
    }
}

TEST(Child, WhatIsNoProgramIsNotRunByAShell) {
    const TestFolder folder;
    const std::string file = folder / "script";
    ASSERT_TRUE(replace_file(file, "touch " + (folder / "ran").string() + "\n"));
    ASSERT_EQ(::chmod(file.c_str(), 0700), 0);
    for (const bool dies_with_thread : {false, true}) {
        Child child;
        EXPECT_EQ(child.start({.words = {file}, .dies_with_thread = dies_with_thread}), ENOEXEC);
    }
    EXPECT_NE(::access((folder / "ran").c_str(), F_OK), 0);
}

TEST(Child, GoesWithItsOwner) {
    Descriptor process;
    {
        Child child;
        ASSERT_EQ(child.start({.words = {"/bin/sleep", "600"}}), 0);
        process = open_pidfd(child.pid());
        ASSERT_TRUE(process.is_open());
    }
    EXPECT_FALSE(signal_pidfd(process, 0)) << "it is gone, and collected";
}

}  // namespace
}  // namespace crab
