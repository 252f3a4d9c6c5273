#include "core/ledger/test_ledger_steps.hpp"
#include "store/suite/test_engine.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <utility>

#include <gtest/gtest.h>

namespace crab::store {
namespace {

using namespace std::chrono_literals;
using core::LedgerAdmission;
using core::LedgerChange;
using core::LedgerEntry;
using core::LedgerStatus;
using core::ok;
using core::Outcome;

struct LedgerStoreTest : StoreSuite, core::LedgerStoreSteps {
    LedgerStoreTest() { store = open(); }

    std::unique_ptr<core::LedgerStore> open() {
        auto opened = engine().records().open_ledger();
        EXPECT_TRUE(opened) << opened.error().message;
        return std::move(*opened);
    }
    /// As after a crash: another connection, while the first has not been closed.
    void start_again() {
        store.reset();
        store = open();
    }
};

TEST_P(LedgerStoreTest, AnEndedCallIsReplayedInALaterLife) {
    end(admit("k"), ok("done"));
    start_again();
    const LedgerEntry again = admit("k");
    ASSERT_EQ(again.status, LedgerStatus::kFinished);
    EXPECT_EQ((*again.outcome)->content, "done");
    EXPECT_EQ(again.duration, 7ms);
    EXPECT_EQ(again.admitted_at, core::kFirstAdmissionAt);
}

TEST_P(LedgerStoreTest, ACallThatNeverEndedIsOpenAndOnlyAnIdempotentToolRunsAgain) {
    admit("k");
    start_again();
    now += 1min;
    EXPECT_EQ(admit("k").status, LedgerStatus::kOpen);
    EXPECT_EQ(admit("k").admitted_at, core::kFirstAdmissionAt);
    auto repeat = admission("k");
    repeat.may_run_again = true;
    const LedgerEntry taken = write(repeat).value();
    EXPECT_EQ(taken.status, LedgerStatus::kAdmitted);
    EXPECT_EQ(taken.admitted_at, now);
    end(taken, ok("second"));
    EXPECT_EQ(admit("k").status, LedgerStatus::kFinished);
}

TEST_P(LedgerStoreTest, OtherContentIsAConflictOpenOrEnded) {
    const LedgerEntry first = admit("k", 1);
    auto other = admission("k", 2);
    other.may_run_again = true;
    EXPECT_EQ(write(other)->status, LedgerStatus::kConflict);
    end(first, ok("done"));
    const LedgerEntry conflict = admit("k", 2);
    EXPECT_EQ(conflict.status, LedgerStatus::kConflict);
    EXPECT_EQ(conflict.outcome, nullptr);
}

TEST_P(LedgerStoreTest, KeysOfOtherPrincipalsAndTenantsAreOthers) {
    admit("k");
    auto bob = admission("k"), other = admission("k");
    bob.principal = "bob";
    other.tenant = "other";
    EXPECT_EQ(write(bob)->status, LedgerStatus::kAdmitted);
    EXPECT_EQ(write(other)->status, LedgerStatus::kAdmitted);
}

TEST_P(LedgerStoreTest, AReleasedCallIsGoneAndItsRefIsNotUsedAgain) {
    const LedgerEntry first = admit("k");
    ASSERT_TRUE(write(core::LedgerRelease{first.ref}));
    const LedgerEntry second = admit("k", 2);
    EXPECT_EQ(second.status, LedgerStatus::kAdmitted);
    EXPECT_NE(second.ref, first.ref);
}

TEST_P(LedgerStoreTest, TheFirstEndOfARefStandsAndALaterOneHoldsNobodyUp) {
    const LedgerEntry first = admit("first"), second = admit("second");
    end(first, ok("the first"));
    const auto answers =
        store->write({core::LedgerEnd{first.ref, ok("a later one"), 9ms},
                      core::LedgerEnd{second.ref, ok("of another"), 1ms}, admission("third")});
    for (const auto& answer : answers) ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(admit("first").outcome->value().content, "the first");
    EXPECT_EQ(admit("second").outcome->value().content, "of another");
    start_again();
    EXPECT_EQ(admit("first").outcome->value().content, "the first");
}

TEST_P(LedgerStoreTest, OutcomesComeBackAsTheyWere) {
    core::ToolResult bytes;
    bytes.kind = core::ContentKind::kBytes;
    bytes.content = std::string("\0\xff\n", 3);
    bytes.content_type = "image/png";
    bytes.logs = {"one", "two\nlines \"quoted\""};
    bytes.usage = {.cpu = 5ms, .wall = 6ms, .peak_memory_bytes = 7};
    end(admit("bytes"), std::make_shared<const Outcome>(bytes));
    const Error busy{.code = ErrorCode::kToolFailed,
                     .message = "busy",
                     .details = R"({"a":1})",
                     .retryable = false,
                     .retry_after = 90ms};
    end(admit("error"), std::make_shared<const Outcome>(fail(busy)));
    end(admit("plain"), std::make_shared<const Outcome>(fail(ErrorCode::kTimeout, "late")));
    start_again();

    const auto read = *admit("bytes").outcome;
    ASSERT_TRUE(read);
    EXPECT_EQ(read->kind, bytes.kind);
    EXPECT_EQ(read->content, bytes.content);
    EXPECT_EQ(read->content_type, bytes.content_type);
    EXPECT_EQ(read->logs, bytes.logs);
    EXPECT_EQ(read->usage.cpu, 5ms);
    EXPECT_EQ(read->usage.peak_memory_bytes, 7u);
    const Error error = admit("error").outcome->error();
    EXPECT_EQ(error.code, ErrorCode::kToolFailed);
    EXPECT_EQ(error.message, "busy");
    EXPECT_EQ(error.details, R"({"a":1})");
    EXPECT_EQ(error.retryable, false);
    EXPECT_EQ(error.retry_after, 90ms);
    const Error late = admit("plain").outcome->error();
    EXPECT_EQ(late.code, ErrorCode::kTimeout);
    EXPECT_FALSE(late.retryable || late.retry_after);
}

TEST_P(LedgerStoreTest, OneCommitCarriesAdmissionsEndsAndReleasesInTheirOrder) {
    const LedgerEntry first = admit("first"), second = admit("second");
    const auto answers =
        store->write({core::LedgerEnd{first.ref, ok("done"), 1ms}, core::LedgerRelease{second.ref},
                      admission("second", 2), admission("first")});
    ASSERT_EQ(answers.size(), 4u);
    EXPECT_EQ(answers[2]->status, LedgerStatus::kAdmitted);
    EXPECT_EQ(answers[3]->status, LedgerStatus::kFinished);
}

TEST_P(LedgerStoreTest, OldEntriesDoNotCountAndAreRemovedInParts) {
    end(admit("old"), ok("done"));
    now += 25h;
    EXPECT_EQ(admit("old", 2).status, LedgerStatus::kAdmitted)
        << "an old entry does not count even before it is removed";
    admit_many(1'200);
    EXPECT_EQ(store->forget(now).value(), 0u);
    now += 1ms;
    EXPECT_EQ(store->forget(now).value(), 1'000u);
    EXPECT_EQ(store->forget(now).value(), 201u);
    EXPECT_EQ(admit("key-7", 9).status, LedgerStatus::kAdmitted);
}

TEST_P(LedgerStoreTest, AfterACrashTheRecordsThatTheAuditTrailMayLackAreToldOnce) {
    const auto with_record = [&](std::string key) {
        auto made = admission(key);
        made.record = "record of " + key;
        made.event = "event of " + key;
        made.addressee = "tool_host/x";
        return write(made).value();
    };
    end(with_record("long ago"), ok("done"));
    with_record("open");
    now += 1min;
    end(with_record("just before"), ok("done"));
    admit("open without a record");
    start_again();

    const auto told = [&] {
        std::vector<std::string> lines;
        for (const core::UnfinishedCall& call : store->unfinished().value()) {
            lines.push_back(call.record + ", " + call.event + ", " + call.addressee +
                            (call.outcome ? ", ended" : ", open"));
        }
        return lines;
    };
    const std::vector<std::string> expected{
        "record of open, event of open, tool_host/x, open",
        "record of just before, event of just before, tool_host/x, ended", ", , , open"};
    EXPECT_EQ(told(), expected);
    start_again();
    EXPECT_EQ(told(), expected) << "until it is marked";
    EXPECT_TRUE(store->mark_reported());
    start_again();
    EXPECT_TRUE(told().empty());
    EXPECT_EQ(admit("open").status, LedgerStatus::kOpen) << "being told does not end it";
}

CRAB_EACH_ENGINE(LedgerStoreTest);

}  // namespace
}  // namespace crab::store
