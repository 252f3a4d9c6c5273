#include "bridge/exec_transport.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::bridge {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

class ExecCommandLine : public testing::Test {
protected:
    std::vector<std::string> words_for(cetp::ProviderRecord record,
                                       std::string exec = "/opt/tools/disk 'one word'") {
        record.exec = std::move(exec);
        return *transport.command_line(record,
                                       cetp::MethodCall::execute_tool("usage", "{}", "c-1"));
    }
    RealClock clock;
    net::EventLoop loop{clock};
    ExecTransport transport{loop, "/usr/bin/bwrap", "/home/ada"};
};

TEST_F(ExecCommandLine, EndsWithTheWordsOfExecAndTheMethod) {
    const auto words = words_for({});
    EXPECT_EQ(words.front(), "/usr/bin/bwrap");
    EXPECT_EQ(std::vector(words.end() - 4, words.end()),
              (std::vector<std::string>{"--", "/opt/tools/disk", "one word", "execute_tool"}));
}

TEST_F(ExecCommandLine, NeitherNetworkNorHomeUnlessTheRecordWishesForThem) {
    EXPECT_THAT(words_for({}), Not(Contains("--share-net")));
    EXPECT_THAT(words_for({}), Not(Contains("/home/ada")));
    EXPECT_THAT(words_for({.network = true}), Contains("--share-net"));
    EXPECT_THAT(words_for({.read_home = true}), Contains("/home/ada"));
}

/// What of the machine it sees.
std::vector<std::string> bound(const std::vector<std::string>& words) {
    std::vector<std::string> found;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        if (words[i] == "--ro-bind") found.push_back(words[i + 1]);
    }
    return found;
}

TEST_F(ExecCommandLine, NeverBindsTheRoot) {
    EXPECT_THAT(bound(words_for({.network = true, .read_home = true})), Not(Contains("/")));
}

TEST_F(ExecCommandLine, TheFolderOfTheProgramIsShownUnlessItShowsTheHomeOrSockets) {
    EXPECT_THAT(bound(words_for({})), ElementsAre("/usr", "/etc", "/sys", "/opt/tools"));
    for (const char* program : {"/home/ada/disk", "/home/disk", "/disk", "/run/user/1000/disk",
                                "/run/disk", "/tmp/disk", "/opt/../home/ada/disk"}) {
        EXPECT_THAT(bound(words_for({}, program)), ElementsAre("/usr", "/etc", "/sys", program));
    }
    EXPECT_THAT(bound(words_for({}, "/home/ada/tools/disk")),
                ElementsAre("/usr", "/etc", "/sys", "/home/ada/tools"));
}

TEST_F(ExecCommandLine, WhatIsMountedIsSealedLast) {
    const auto words = words_for({.read_home = true});
    const auto sealed = std::ranges::find(words, "--remount-ro");
    EXPECT_EQ(std::find(sealed, words.end(), "--ro-bind"), words.end());
    EXPECT_THAT((std::vector<std::string>(sealed, sealed + 6)),
                ElementsAre("--remount-ro", "/run", "--remount-ro", "/dev", "--remount-ro", "/"));
}

TEST_F(ExecCommandLine, AnOpenQuoteIsAnError) {
    EXPECT_FALSE(transport.command_line({.exec = "/opt/x 'y"}, cetp::MethodCall::list_tools()));
}

}  // namespace
}  // namespace crab::bridge
