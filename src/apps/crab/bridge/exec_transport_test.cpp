#include "apps/crab/bridge/exec_transport.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::app {
namespace {

using testing::Contains;
using testing::Not;

class ExecCommandLine : public testing::Test {
protected:
    std::vector<std::string> words_for(cetp::ProviderRecord record) {
        record.exec = "/opt/tools/disk 'one word'";
        return *transport.command_line(record, cetp::MethodCall::execute_tool("usage", "{}", "c-1"));
    }
    RealClock clock;
    net::EventLoop loop{clock};
    ExecTransport transport{loop, "/usr/bin/bwrap", "/home/ada"};
};

TEST_F(ExecCommandLine, EndsWithTheWordsOfExecAndTheMethod) {
    const auto words = words_for({});
    EXPECT_EQ(words.front(), "/usr/bin/bwrap");
    EXPECT_EQ(std::vector(words.end() - 4, words.end()), (std::vector<std::string>{"--", "/opt/tools/disk", "one word", "execute_tool"}));
}

TEST_F(ExecCommandLine, NeitherNetworkNorHomeUnlessTheRecordWishesForThem) {
    EXPECT_THAT(words_for({}), Not(Contains("--share-net")));
    EXPECT_THAT(words_for({}), Not(Contains("/home/ada")));
    EXPECT_THAT(words_for({.network = true}), Contains("--share-net"));
    EXPECT_THAT(words_for({.read_home = true}), Contains("/home/ada"));
}

TEST_F(ExecCommandLine, NeverBindsTheRoot) { EXPECT_THAT(words_for({.network = true, .read_home = true}), Not(Contains("/"))); }

TEST_F(ExecCommandLine, AnOpenQuoteIsAnError) {
    EXPECT_FALSE(transport.command_line({.exec = "/opt/x 'y"}, cetp::MethodCall::list_tools()));
}

}  // namespace
}  // namespace crab::app
