#include "core/audit/audit_search.hpp"

#include "base/test_clock.hpp"
#include "core/audit/audit_text.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace crab::core {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Batches in a list; how many of them were read.
class AuditStoreList final : public AuditStore {
public:
    Result<void> append(const AuditBatch& batch) override {
        batches_.push_back(batch);
        return {};
    }
    Result<std::vector<std::string>> latest(std::size_t) override { return {}; }
    Result<std::optional<std::string>> find_call(std::string_view, SystemTime) override {
        return std::nullopt;
    }
    Result<void> read(const AuditRange& range,
                      const std::function<bool(const StoredAuditBatch&)>& take) override {
        const std::size_t count = batches_.size();
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t place = range.newest_first ? count - 1 - i : i;
            const AuditBatch& batch = batches_[place];
            const std::uint64_t sequence = place + 1;
            const bool before =
                range.newest_first ? sequence > range.begin : sequence < range.begin;
            if (range.begin != 0 && before) continue;
            ++read_count;
            const StoredAuditBatch stored{.sequence = sequence,
                                          .first = batch.first,
                                          .last = batch.last,
                                          .records = batch.records};
            if (!take(stored)) break;
        }
        return {};
    }
    Result<AuditCheck> verify_chain(const std::stop_token&) override { return AuditCheck{}; }
    Result<std::uint64_t> prune(SystemTime) override { return 0; }

    std::size_t read_count = 0;

private:
    std::vector<AuditBatch> batches_;
};

class AuditSearchTest : public testing::Test {
protected:
    /// A batch whose records were all made now.
    void add(const std::vector<std::string>& records) {
        clock.advance(1s);
        const SystemTime now = clock.system_now();
        ASSERT_TRUE(store.append({.first = now,
                                  .last = now,
                                  .count = static_cast<std::uint32_t>(records.size()),
                                  .records = fmt::format("{}", fmt::join(records, "\n"))}));
    }
    AuditFilter filter(std::map<std::string, std::string, std::less<>> given) {
        const auto read = AuditFilter::read([&](std::string_view name) {
            const auto found = given.find(name);
            return found == given.end() ? std::nullopt : std::optional(found->second);
        });
        EXPECT_TRUE(read) << read.error().message;
        return read.value_or(AuditFilter());
    }
    ErrorCode refused(const std::string& name, const std::string& value) {
        const auto read = AuditFilter::read([&](std::string_view asked) {
            return asked == name ? std::optional(value) : std::nullopt;
        });
        return read ? ErrorCode::kInternal : read.error().code;
    }
    std::vector<std::string> search(std::map<std::string, std::string, std::less<>> given,
                                    AuditScan scan = {}) {
        return search_audit(store, filter(std::move(given)), scan, clock).value().records;
    }

    AuditStoreList store;
    FakeClock clock;
};

constexpr auto kOk = R"({"call_id":"c1","principal":"caller/ci","tool":"disk_usage","status":"ok",)"
                     R"("duration_us":485})";
constexpr auto kFailed =
    R"({"call_id":"c2","principal":"device/phone","agent":"butler","tool":"take_photo",)"
    R"("rule":"rule 3, of \"phones\"","status":"timeout","code":"TIMEOUT",)"
    R"("message":"No answer in time","duration_us":30000000})";
constexpr auto kEvent =
    R"({"event":"lease.granted","principal":"caller/ci","lease":{"id":"9f2c","for":["Events"]}})";

TEST_F(AuditSearchTest, EveryMemberIsCompared) {
    add({kOk, kFailed, kEvent});
    EXPECT_THAT(search({}), ElementsAre(kEvent, kFailed, kOk));
    EXPECT_THAT(search({{"tool", "disk_usage"}}), ElementsAre(kOk));
    EXPECT_THAT(search({{"tool", "disk"}}), IsEmpty());
    EXPECT_THAT(search({{"tool", "d*, *photo"}}), ElementsAre(kFailed, kOk));
    EXPECT_THAT(search({{"principal", "caller/*"}}), ElementsAre(kEvent, kOk));
    EXPECT_THAT(search({{"principal", "caller/*"}, {"status", "ok,timeout"}}), ElementsAre(kOk));
    EXPECT_THAT(search({{"agent", "butler"}}), ElementsAre(kFailed));
    EXPECT_THAT(search({{"code", "TIMEOUT"}}), ElementsAre(kFailed));
    EXPECT_THAT(search({{"event", "lease.*"}}), ElementsAre(kEvent));
    EXPECT_THAT(search({{"rule", "rule 3, of \"phones\""}}), ElementsAre(kFailed));
    EXPECT_THAT(search({{"rule", "rule 3"}}), IsEmpty());
    EXPECT_THAT(search({{"min_us", "486"}}), ElementsAre(kFailed));
    EXPECT_THAT(search({{"min_us", "0"}}), ElementsAre(kFailed, kOk));
}

TEST_F(AuditSearchTest, WordsStandInValuesInAnyCase) {
    add({kOk, kFailed, kEvent});
    EXPECT_THAT(search({{"q", "ANSWER  no"}}), ElementsAre(kFailed));
    EXPECT_THAT(search({{"q", "events"}}), ElementsAre(kEvent));
    EXPECT_THAT(search({{"q", "answer disk"}}), IsEmpty());
    EXPECT_THAT(search({{"q", "principal"}}), IsEmpty()) << "the name of a member is no value";
}

TEST_F(AuditSearchTest, ACallWasRecordedWhenItHadEnded) {
    const SystemTime begin = clock.system_now();
    const auto call = [&](std::string_view id, SystemTime started, std::chrono::microseconds us) {
        return fmt::format(R"({{"call_id":"{}","time":"{}","duration_us":{}}})", id,
                           to_rfc3339(started), us.count());
    };
    const std::string quick = call("quick", begin + 1s, 1ms), slow = call("slow", begin, 60s);
    ASSERT_TRUE(store.append(
        {.first = begin + 1s, .last = begin + 60s, .count = 2, .records = quick + "\n" + slow}));
    EXPECT_THAT(search({{"from", to_rfc3339(begin + 2s)}}), ElementsAre(slow));
    EXPECT_THAT(search({{"to", to_rfc3339(begin + 2s)}}), ElementsAre(quick));
    EXPECT_THAT(search({{"from", to_rfc3339(begin + 61s)}}), IsEmpty());
}

TEST_F(AuditSearchTest, PartsMeetWithoutAGapFromEitherEnd) {
    std::vector<std::string> all;
    for (int batch = 0; batch < 7; ++batch) {
        std::vector<std::string> records;
        for (int i = 0; i < batch; ++i)
            records.push_back(fmt::format(R"({{"call_id":"{}-{}"}})", batch, i));
        all.insert(all.end(), records.begin(), records.end());
        add(records);
    }
    for (const bool newest_first : {true, false}) {
        for (const std::size_t most : {1U, 2U, 3U, 100U}) {
            std::vector<std::string> found;
            AuditScan scan{.newest_first = newest_first, .most_found = most};
            do {
                auto part = search_audit(store, {}, scan, clock).value();
                EXPECT_LE(part.records.size(), most);
                found.insert(found.end(), part.records.begin(), part.records.end());
                if (part.cursor) part.cursor = AuditCursor::parse(part.cursor->text());
                scan.cursor = part.cursor;
            } while (scan.cursor);
            if (newest_first) std::ranges::reverse(found);
            EXPECT_EQ(found, all) << most;
        }
    }
}

TEST_F(AuditSearchTest, APartEndsByBytesAndByTimeAndSaysHowFarItCame) {
    for (int i = 0; i < 3; ++i) add({kOk, kOk});
    AuditScan scan{.most_read_bytes = 1};
    auto part = search_audit(store, filter({{"tool", "none"}}), scan, clock).value();
    EXPECT_THAT(part.records, IsEmpty());
    ASSERT_TRUE(part.cursor);
    EXPECT_EQ(part.cursor->sequence, 3u);
    EXPECT_EQ(part.scanned_to, clock.system_now());
    scan = {.most_time = 0ms};
    std::vector<std::string> many(1000, kOk);
    add(many);
    part = search_audit(store, filter({{"tool", "none"}}), scan, clock).value();
    ASSERT_TRUE(part.cursor);
    EXPECT_EQ(part.cursor->sequence, 4u);
    part = search_audit(store, filter({{"tool", "none"}}), {}, clock).value();
    EXPECT_FALSE(part.cursor);
    EXPECT_EQ(part.scanned_to, clock.system_now() - 3s);
}

TEST_F(AuditSearchTest, ItEndsWhenItIsToldTo) {
    add(std::vector<std::string>(1000, kOk));
    std::stop_source stop;
    stop.request_stop();
    const auto part =
        search_audit(store, filter({{"tool", "none"}}), {.stop = stop.get_token()}, clock);
    EXPECT_EQ(part.error().code, ErrorCode::kCancelled);
}

TEST_F(AuditSearchTest, ParametersThatMeanNothingAreRefused) {
    EXPECT_EQ(refused("from", "yesterday"), ErrorCode::kInvalidArgs);
    EXPECT_EQ(refused("to", ""), ErrorCode::kInvalidArgs);
    EXPECT_EQ(refused("min_us", "-1"), ErrorCode::kInvalidArgs);
    EXPECT_EQ(refused("min_us", "1s"), ErrorCode::kInvalidArgs);
    EXPECT_EQ(refused("tool", std::string(257, '*')), ErrorCode::kInvalidArgs);
    EXPECT_EQ(refused("q", "a b c d e f g h i j k l m n o p q"), ErrorCode::kInvalidArgs);
    for (const char* text : {"", "1", "1.", ".1", "0.0", "1.-1", "1.1 ", "99999999999999999999.1"})
        EXPECT_FALSE(AuditCursor::parse(text)) << text;
}

TEST_F(AuditSearchTest, ACursorFromElsewhereFindsNothingThatIsNotThere) {
    add({kOk, kFailed});
    for (const AuditCursor cursor : {AuditCursor{1, 5}, AuditCursor{1, 1'000'000}, {77, 3}}) {
        const auto part =
            search_audit(store, filter({{"tool", "*"}}), {.cursor = cursor}, clock).value();
        EXPECT_FALSE(part.cursor);
        for (const std::string& record : part.records)
            EXPECT_TRUE(record == kOk || record == kFailed) << record;
    }
}

TEST_F(AuditSearchTest, AFoundRecordThatIsNoJsonIsAString) {
    std::string out;
    json::Writer writer(out);
    append_found(writer, {.records = {kOk, "{\"broken"}, .cursor = AuditCursor{5, 7}});
    EXPECT_EQ(out, fmt::format(R"({{"records":[{},"{{\"broken"],"cursor":"5.7","complete":false}})",
                               kOk));
}

TEST(AuditCsvTest, FormulasAreDefusedAndQuotesDoubled) {
    AuditCsv csv;
    const auto tool_field = [&](const std::string& quoted) {
        std::string row;
        csv.append_row(row, fmt::format(R"({{"tool":"{}","duration_us":-5}})", quoted));
        EXPECT_TRUE(row.starts_with(",,,,,,,,,,")) << row;
        return row.substr(10, row.find(",,,,,,,", 10) - 10);
    };
    EXPECT_EQ(tool_field("disk"), R"("disk")");
    EXPECT_EQ(tool_field("a, \\\"b\\\""), R"("a, ""b""")");
    for (const char* text : {"=1+1", "+1", "-1", "@SUM(A1)", "  =1", "＝1", "－1", "＠x", "＋1"})
        EXPECT_EQ(tool_field(text), fmt::format("\"'{}\"", text));
    EXPECT_EQ(tool_field("\\t=1"), "\"'\t=1\"");
    EXPECT_EQ(tool_field("\\rx"), "\"'\rx\"");
    EXPECT_EQ(tool_field("a=1"), R"("a=1")");
}

TEST(AuditCsvTest, ARowHasAsManyFieldsAsTheHeadWhateverTheRecordIs) {
    AuditCsv csv;
    const auto commas = std::ranges::count(AuditCsv::head(), ',');
    for (const char* record : {"{}", "=cmd", "{\"time\":5}"}) {
        std::string row;
        csv.append_row(row, record);
        EXPECT_EQ(std::ranges::count(row, ','), commas) << row;
        EXPECT_THAT(row, HasSubstr("\r\n"));
    }
    std::string row;
    csv.append_row(row, "=cmd");
    EXPECT_THAT(row, HasSubstr("\"'=cmd\""));
}

}  // namespace
}  // namespace crab::core
