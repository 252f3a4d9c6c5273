#include "base/log.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace crab {
namespace {

/// One line at a time, as a reader of standard error sees it.
struct LogTest : testing::Test {
    std::string written(log::Format format, std::string_view event,
                        std::initializer_list<log::Field> fields) {
        log::configure(log::Level::kInfo, format);
        testing::internal::CaptureStderr();
        log::error(event, fields);
        return testing::internal::GetCapturedStderr();
    }
    ~LogTest() override { log::configure(log::Level::kInfo, log::Format::kText); }
};

TEST_F(LogTest, WhateverAPeerCallsItselfOneEventStaysOneLine) {
    const std::string name = "a\nERROR forged=\"1\"\r\t\x7f\\";
    for (const log::Format format : {log::Format::kText, log::Format::kJson}) {
        const std::string line = written(format, "peer connected", {{"peer_id", name}});
        EXPECT_EQ(std::ranges::count(line, '\n'), 1) << line;
        EXPECT_EQ(line.back(), '\n');
        EXPECT_EQ(line.find('\r'), std::string::npos);
        EXPECT_NE(line.find(R"("a\u000aERROR forged=\"1\"\u000d\u0009\u007f\\")"),
                  std::string::npos)
            << line;
    }
}

TEST_F(LogTest, PlainValuesAreWrittenPlainAndOthersQuoted) {
    const std::string line =
        written(log::Format::kText, "event", {{"a", "plain/1"}, {"b", ""}, {"c", "x=y"}, {"d", 5}});
    EXPECT_NE(line.find(R"(error event a=plain/1 b="" c="x=y" d=5)"), std::string::npos) << line;
}

TEST_F(LogTest, JsonHasTheFieldsAsMembers) {
    const std::string line = written(log::Format::kJson, "event", {{"a", "1"}});
    EXPECT_EQ(line.find(R"({"time":")"), 0u) << line;
    EXPECT_NE(line.find(R"("level":"error","part":"base","event":"event","a":"1"})"),
              std::string::npos)
        << line;
}

TEST_F(LogTest, LinesBelowTheThresholdAreNotWritten) {
    log::configure(log::Level::kWarn, log::Format::kText);
    testing::internal::CaptureStderr();
    log::info("quiet");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_FALSE(log::enabled(log::Level::kInfo));
    EXPECT_TRUE(log::enabled(log::Level::kError));
}

TEST_F(LogTest, APartHasTheLevelOfTheLongestPartAboveIt) {
    // This file is of the part `base`.
    log::set_levels(log::Level::kWarn, {{"base", log::Level::kDebug}});
    EXPECT_TRUE(log::enabled(log::Level::kDebug));
    log::set_levels(log::Level::kInfo, {{"base/process", log::Level::kDebug}});
    EXPECT_FALSE(log::enabled(log::Level::kDebug)) << "of a part below";
    log::set_levels(log::Level::kDebug, {{"base", log::Level::kOff}});
    EXPECT_FALSE(log::enabled(log::Level::kError));
    log::set_levels(log::Level::kError, {{"bas", log::Level::kDebug}});
    EXPECT_FALSE(log::enabled(log::Level::kWarn)) << "names are whole words";
}

TEST_F(LogTest, LevelsAndTheSinkAreReplacedWhileOthersWrite) {
    std::atomic<int> taken{0};
    const auto replace_both = [&](int i) {
        log::set_levels(log::Level::kWarn,
                        {{"base", i % 2 ? log::Level::kInfo : log::Level::kOff}});
        log::set_sink(std::make_shared<const log::Sink>([&, i](const log::Line& line) {
            taken += line.event == "event" && i >= 0;
            return true;
        }));
    };
    replace_both(1);
    const auto write = [](std::stop_token stop) {
        while (!stop.stop_requested()) log::info("event");
    };
    {
        const std::jthread one(write), two(write);
        for (int i = 0; i < 2'000; ++i) replace_both(i);
        while (taken == 0) std::this_thread::yield();
    }
    log::set_sink(nullptr);
    EXPECT_GT(taken, 0);
}

TEST_F(LogTest, ThePartOfAFileIsItsFolderBelowTheSources) {
    EXPECT_EQ(log::part_of("/home/me/src/crab/src/adapters/mcp/server/front.cpp"),
              "adapters/mcp/server");
    EXPECT_EQ(log::part_of("src/trust/tokens.cpp"), "trust");
    EXPECT_EQ(log::part_of("/b/dev/headers/crab_core_call/core/call/tool.hpp"), "core/call");
    EXPECT_EQ(log::part_of("main.cpp"), "");
    EXPECT_TRUE(log::is_part("trust"));
    EXPECT_TRUE(log::is_part("adapters"));
    EXPECT_TRUE(log::is_part("adapters/mcp"));
    EXPECT_FALSE(log::is_part("adapter"));
    EXPECT_FALSE(log::is_part(""));
    EXPECT_FALSE(log::is_part("trust/tokens"));
}

}  // namespace
}  // namespace crab
