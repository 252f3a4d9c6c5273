#include "net/loop/journal.hpp"

#include "base/process/test_folder.hpp"

#include <string>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::net {
namespace {

using testing::HasSubstr;

/// Takes what is sent, as the journal does.
class JournalTest : public testing::Test {
protected:
    JournalTest() {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        EXPECT_EQ(::bind(taken.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
                  0);
    }
    ~JournalTest() override {
        log::set_sink(nullptr);
        log::configure(log::Level::kInfo, log::Format::kText);
    }

    static std::string stream_of(int descriptor) {
        struct stat status{};
        EXPECT_EQ(::fstat(descriptor, &status), 0);
        return fmt::format("{}:{}", status.st_dev, status.st_ino);
    }
    std::optional<Journal> open() const {
        return Journal::open(stream_of(taken.get()), taken.get(), path);
    }
    std::string next() const {
        std::string entry(std::size_t{1} << 16, '\0');
        const ssize_t size = ::recv(taken.get(), entry.data(), entry.size(), MSG_DONTWAIT);
        entry.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
        return entry;
    }

    const TestFolder folder;
    const std::string path = folder.path() / "journal.sock";
    const Descriptor taken{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

TEST_F(JournalTest, AnEntryHasTheEventAndEachFieldByItsName) {
    const log::Field fields[] = {{"call_id", "c1"}, {"took-ms", 5}};
    EXPECT_EQ(Journal::entry_of({.level = log::Level::kWarn,
                                 .part = "core/pipeline",
                                 .event = "a call was slow",
                                 .fields = fields}),
              "MESSAGE=a call was slow call_id=c1 took-ms=5\nPRIORITY=4\n"
              "SYSLOG_IDENTIFIER=crab\nCRAB_PART=core/pipeline\nCRAB_EVENT=a call was slow\n"
              "CRAB_CALL_ID=c1\nCRAB_TOOK_MS=5\n");
}

TEST_F(JournalTest, AValueOfSeveralLinesHasItsLengthAndForgesNoField) {
    const log::Field fields[] = {{"reason", "a\nPRIORITY=0"}};
    const std::string entry = Journal::entry_of(
        {.level = log::Level::kError, .part = "trust", .event = "e", .fields = fields});
    using namespace std::string_literals;
    EXPECT_THAT(entry, HasSubstr("CRAB_REASON\n\x0c\0\0\0\0\0\0\0a\nPRIORITY=0\n"s));
    EXPECT_THAT(entry, HasSubstr("MESSAGE=e reason=\"a\\u000aPRIORITY=0\"\n"));
}

TEST_F(JournalTest, LinesOfTheProgramGoThereAndNotToStandardError) {
    auto journal = open();
    ASSERT_TRUE(journal);
    log::set_sink(std::make_shared<const log::Sink>(
        [&](const log::Line& line) { return journal->send(line); }));
    testing::internal::CaptureStderr();
    log::info("device connected", {{"session_id", "s1"}});
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    const std::string entry = next();
    EXPECT_THAT(entry, HasSubstr("PRIORITY=6\n"));
    EXPECT_THAT(entry, HasSubstr("CRAB_SESSION_ID=s1\n"));
    EXPECT_THAT(entry, HasSubstr("CRAB_PART=net/loop\n"));
}

TEST_F(JournalTest, WhatTheJournalDoesNotTakeIsWrittenToStandardError) {
    auto journal = open();
    ASSERT_TRUE(journal);
    log::set_sink(std::make_shared<const log::Sink>(
        [&](const log::Line& line) { return journal->send(line); }));
    testing::internal::CaptureStderr();
    log::warn("long", {{"text", std::string(std::size_t{1} << 22, 'x')}});
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("warn  long text=xxx"));
    EXPECT_EQ(next(), "");
    log::configure(log::Level::kInfo, log::Format::kJson);
    testing::internal::CaptureStderr();
    log::warn("as JSON, which is for other readers");
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("as JSON"));
    EXPECT_EQ(next(), "");
}

TEST_F(JournalTest, AJournalThatHasStartedAgainGetsLines) {
    auto journal = open();
    ASSERT_TRUE(journal);
    const log::Line line{
        .level = log::Level::kInfo, .part = "trust", .event = "again", .fields = {}};
    ASSERT_EQ(::unlink(path.c_str()), 0);
    EXPECT_FALSE(journal->send(line));
    const Descriptor other(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(other.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_TRUE(journal->send(line));
    char byte = 0;
    EXPECT_EQ(::recv(other.get(), &byte, 1, MSG_DONTWAIT), 1);
}

TEST_F(JournalTest, AnotherStandardErrorThanTheJournalsIsKept) {
    const TestFolder other;
    const std::string stream = stream_of(taken.get());
    EXPECT_FALSE(Journal::open("", taken.get(), path));
    EXPECT_FALSE(Journal::open("1:2", taken.get(), path));
    EXPECT_FALSE(Journal::open(stream, -1, path));
    EXPECT_FALSE(Journal::open(stream, taken.get(), (other.path() / "none").native()));
    EXPECT_FALSE(Journal::open(stream, taken.get(), std::string(200, 'x')));
}

}  // namespace
}  // namespace crab::net
