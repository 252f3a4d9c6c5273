#include "hosts/cron/time_zones.hpp"

#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

namespace crab::cron {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::sys_seconds;

/// The C library's own opinion, which is not ours: its time zone is one for the whole process.
seconds offset_by_libc(const std::string& zone, sys_seconds time) {
    ::setenv("TZ", zone.c_str(), 1);
    ::tzset();
    const std::time_t count = time.time_since_epoch().count();
    std::tm broken{};
    ::localtime_r(&count, &broken);
    return seconds(broken.tm_gmtoff);
}

std::string bytes_of(const std::string& name) {
    std::ifstream file("/usr/share/zoneinfo/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string big_endian(std::int64_t value, int size) {
    std::string bytes;
    for (int shift = 8 * (size - 1); shift >= 0; shift -= 8)
        bytes += static_cast<char>(value >> shift & 0xff);
    return bytes;
}

struct Change {
    std::int64_t time;
    int type;
};

/// A file of one or two blocks with these changes, offsets and footer.
std::string tzif(char version, const std::vector<Change>& changes, const std::vector<int>& offsets,
                 const std::string& footer = "", int leap_seconds = 0) {
    const auto block = [&](int time_size) {
        std::string bytes = std::string("TZif") + version + std::string(15, '\0');
        for (const std::size_t count :
             {std::size_t{0}, std::size_t{0}, static_cast<std::size_t>(leap_seconds),
              changes.size(), offsets.size(), std::size_t{4}}) {
            bytes += big_endian(static_cast<std::int64_t>(count), 4);
        }
        for (const Change& change : changes) bytes += big_endian(change.time, time_size);
        for (const Change& change : changes) bytes += static_cast<char>(change.type);
        for (const int offset : offsets) bytes += big_endian(offset, 4) + std::string(2, '\0');
        bytes += std::string("XXX\0", 4) + std::string(static_cast<std::size_t>(leap_seconds) *
                                                           static_cast<std::size_t>(time_size + 4),
                                                       '\0');
        return bytes;
    };
    return version == '\0' ? block(4) : block(4) + block(8) + "\n" + footer + "\n";
}

TEST(TimeZone, AgreesWithTheCLibraryInEveryYear) {
    std::mt19937_64 random(20'260'801);
    TimeZones zones;
    const std::int64_t first = sys_seconds(sys_days(1850y / 1 / 1)).time_since_epoch().count(),
                       last = sys_seconds(sys_days(2400y / 1 / 1)).time_since_epoch().count();
    for (const std::string name :
         {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu",
          "Africa/Casablanca", "Europe/Dublin", "America/Nuuk", "Asia/Gaza", "Antarctica/Troll",
          "Pacific/Apia", "America/Sao_Paulo", "Asia/Tehran", "Europe/London", "Pacific/Kiritimati",
          "Africa/Monrovia", "EST5EDT", "UTC"}) {
        const auto zone = zones.find(name).value();
        for (int i = 0; i < 2'000; ++i) {
            const sys_seconds time{seconds(std::uniform_int_distribution(first, last)(random))};
            const ZoneSpan span = zone->span_at(time);
            ASSERT_EQ(span.offset, offset_by_libc(name, time))
                << name << " at " << time.time_since_epoch().count();
            ASSERT_TRUE(span.begin <= time && time < span.end);
            for (const sys_seconds edge : {span.begin, span.end - 1s}) {
                if (edge.time_since_epoch().count() > first &&
                    edge.time_since_epoch().count() < last) {
                    ASSERT_EQ(offset_by_libc(name, edge), span.offset)
                        << name << " at " << edge.time_since_epoch().count();
                }
            }
        }
    }
    ::unsetenv("TZ");
}

TEST(TimeZone, FollowsTheRuleOfTheFooterAfterTheLastChange) {
    const auto zone =
        TimeZone::parse(tzif('2', {{1'000'000'000, 1}}, {0, 3600}, "CET-1CEST,M3.5.0,M10.5.0/3"))
            .value();
    EXPECT_EQ(zone.span_at(sys_seconds(999'999'999s)),
              (ZoneSpan{.end = sys_seconds(1'000'000'000s), .offset = 0s}));
    EXPECT_EQ(zone.span_at(sys_seconds(1'000'000'000s)),
              (ZoneSpan{.begin = sys_seconds(1'000'000'000s),
                        .end = sys_days(2001y / 10 / 28) + 1h,
                        .offset = 2h}));
    EXPECT_EQ(zone.span_at(sys_days(2050y / 7 / 1)),
              (ZoneSpan{.begin = sys_days(2050y / 3 / 27) + 1h,
                        .end = sys_days(2050y / 10 / 30) + 1h,
                        .offset = 2h}));
}

TEST(TimeZone, ReadsTheOldestVersionAndFilesWithoutAFooter) {
    const auto zone = TimeZone::parse(tzif('\0', {{-100, 1}, {100, 0}}, {0, -3600})).value();
    EXPECT_EQ(zone.span_at(sys_seconds(-101s)).offset, 0s);
    EXPECT_EQ(zone.span_at(sys_seconds(-100s)),
              (ZoneSpan{.begin = sys_seconds(-100s), .end = sys_seconds(100s), .offset = -1h}));
    EXPECT_EQ(zone.span_at(sys_seconds(100s)),
              (ZoneSpan{.begin = sys_seconds(100s), .offset = 0s}));
    EXPECT_EQ(TimeZone::parse(tzif('2', {}, {1800})).value().span_at({}),
              (ZoneSpan{.offset = 30min}));
    EXPECT_EQ(TimeZone::parse(tzif('3', {}, {0}, "<+0545>-5:45")).value().span_at({}).offset,
              5h + 45min)
        << "without changes the footer holds always";
}

TEST(TimeZone, RefusesFilesThatAreNotWhatTheySay) {
    const std::string berlin = bytes_of("Europe/Berlin");
    ASSERT_TRUE(TimeZone::parse(berlin));
    for (std::size_t size = 0; size < berlin.size(); ++size)
        EXPECT_FALSE(TimeZone::parse(berlin.substr(0, size))) << size << " bytes only";
    EXPECT_FALSE(TimeZone::parse("TZjf" + berlin.substr(4)));
    EXPECT_FALSE(TimeZone::parse(std::string(TimeZone::kMostBytes + 1, '\0')));
    EXPECT_FALSE(TimeZone::parse(tzif('1', {}, {0}))) << "no such version";
    EXPECT_FALSE(TimeZone::parse(tzif('2', {{200, 0}, {100, 0}}, {0}))) << "changes out of order";
    EXPECT_FALSE(TimeZone::parse(tzif('2', {{100, 0}, {100, 0}}, {0})))
        << "two changes at one time";
    EXPECT_FALSE(TimeZone::parse(tzif('2', {{100, 1}}, {0}))) << "a type that is not there";
    EXPECT_FALSE(TimeZone::parse(tzif('2', {}, {}))) << "no type at all";
    EXPECT_FALSE(TimeZone::parse(tzif('2', {}, {100'000}))) << "more than a day";
    EXPECT_FALSE(TimeZone::parse(tzif('2', {}, {0}, "", 1))) << "leap seconds";
    EXPECT_FALSE(TimeZone::parse(tzif('2', {}, {0}, "nonsense")));
    EXPECT_EQ(TimeZone::parse("").error().code, ErrorCode::kInvalidArgs);
}

TEST(PosixTimeZone, ReadsEveryFormOfTheRule) {
    const sys_seconds winter = sys_days(2026y / 1 / 15), summer = sys_days(2026y / 7 / 15);
    struct Row {
        const char* text;
        seconds january, july;
    };
    for (const Row& row :
         {Row{"UTC0", 0s, 0s}, Row{"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", -2h, -1h},
          Row{"EST5EDT,M3.2.0,M11.1.0", -5h, -4h}, Row{"NZST-12NZDT,M9.5.0,M4.1.0/3", 13h, 12h},
          Row{"IST-1GMT0,M10.5.0,M3.5.0/1", 0h, 1h},
          Row{"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 11h, 10h + 30min},
          Row{"AAA-1BBB,J60/0,J300/0", 1h, 2h}, Row{"AAA-1BBB,59/0:00:00,299/-167:59:59", 1h, 2h},
          Row{"XXX3EDT4,0/0,J365/23", -4h, -4h},
          Row{"ABC+0:30:15", -(30min + 15s), -(30min + 15s)}}) {
        const auto zone = PosixTimeZone::parse(row.text);
        ASSERT_TRUE(zone) << row.text;
        EXPECT_EQ(zone->span_at(winter).offset, row.january) << row.text;
        EXPECT_EQ(zone->span_at(summer).offset, row.july) << row.text;
    }
    EXPECT_EQ(PosixTimeZone::parse("AAA-1BBB,J60/0,J300/0")->span_at(sys_days(2028y / 5 / 1)).begin,
              sys_days(2028y / 3 / 1) - 1h)
        << "J60 is 1 March in leap years too";
    EXPECT_EQ(PosixTimeZone::parse("AAA-1BBB,59/0,300/0")->span_at(sys_days(2028y / 5 / 1)).begin,
              sys_days(2028y / 2 / 29) - 1h);
    EXPECT_EQ(PosixTimeZone::parse("EET-2EEST,M3.4.4/50,M10.4.4/50")->span_at(summer).begin,
              sys_days(2026y / 3 / 28))
        << "50 hours after Thursday began";
}

TEST(PosixTimeZone, RefusesEverythingElse) {
    for (const char* text :
         {"", "CET", "CE-1", "<CE>-1", "<CET-1", "CET-25", "CET-1CEST", "CET-1CEST,M3.5.0",
          "CET-1CEST,M3.5.0,M10.5.0/3x", "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.6.0,M10.5.0",
          "CET-1CEST,M3.0.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,J366",
          "CET-1CEST,0,366", "CET-1CEST,M3.5.0/168,M10.5.0", "CET-1:60", "CET--1", "CET-1CEST,,"}) {
        EXPECT_FALSE(PosixTimeZone::parse(text)) << text;
    }
}

TEST(TimeZones, FindsZonesByTheirNamesOnly) {
    TimeZones zones;
    EXPECT_EQ(zones.find("Europe/Berlin").value(), zones.find("Europe/Berlin").value())
        << "read once";
    EXPECT_TRUE(zones.find("Etc/GMT+5"));
    EXPECT_TRUE(zones.find("America/Argentina/Buenos_Aires"));
    for (const char* name :
         {"", "Europe/Atlantis", "europe/berlin", "Europe", "/etc/passwd", "Europe/",
          "Europe//Berlin", "Europe/../Europe/Berlin", "../zoneinfo/UTC", "posixrules", "localtime",
          "tzdata.zi", "Europe/Berlin\n", "+02:00", "Europe/B\xc3\xa9rlin"}) {
        const auto zone = zones.find(name);
        ASSERT_FALSE(zone) << name;
        EXPECT_EQ(zone.error().code, ErrorCode::kInvalidArgs) << name;
    }
    EXPECT_FALSE(zones.find("Europe/" + std::string(100, 'a')));
}

TEST(TimeZones, WithoutDataThereIsUtcAndTheRestIsUnavailable) {
    TimeZones zones("/nonexistent");
    EXPECT_EQ(zones.find("UTC").value()->span_at({}), ZoneSpan{});
    EXPECT_EQ(zones.find("Europe/Berlin").error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace crab::cron
