#include "hosts/cron/time_zones.hpp"

#include "base/process/test_folder.hpp"

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
            const ZoneSpan span = zone.span_from(time);
            ASSERT_EQ(span.offset, offset_by_libc(name, time))
                << name << " at " << time.time_since_epoch().count();
            ASSERT_LT(time, span.end);
            if (span.end.time_since_epoch().count() < last) {
                ASSERT_EQ(offset_by_libc(name, span.end - 1s), span.offset)
                    << name << " until " << span.end.time_since_epoch().count();
                ASSERT_EQ(offset_by_libc(name, span.end), zone.span_from(span.end).offset)
                    << name << " from " << span.end.time_since_epoch().count();
            }
        }
    }
    ::unsetenv("TZ");
}

TEST(TimeZones, FindsZonesByTheirNamesOnly) {
    TimeZones zones;
    EXPECT_TRUE(zones.find("Europe/Berlin"));
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
    EXPECT_EQ(zones.find("UTC").value().span_from({}), ZoneSpan{});
    EXPECT_EQ(zones.find("Europe/Berlin").error().code, ErrorCode::kUnavailable);
}

TEST(TimeZones, ReadsItsOwnFolderOnceAndRefusesFilesThatAreNone) {
    const TestFolder folder;
    const auto copied = folder / "Berlin", torn = folder / "Torn", text = folder / "Text";
    std::filesystem::copy_file("/usr/share/zoneinfo/Europe/Berlin", copied);
    std::filesystem::copy_file(copied, torn);
    std::filesystem::resize_file(torn, std::filesystem::file_size(torn) / 2);
    std::ofstream(text) << "CET-1CEST";
    TimeZones zones(folder.path());
    const sys_seconds summer = sys_days(2050y / 7 / 1);
    EXPECT_EQ(zones.find("Berlin").value().span_from(summer),
              (ZoneSpan{.end = sys_days(2050y / 10 / 30) + 1h, .offset = 2h}))
        << "long after the last change in the file";
    EXPECT_EQ(zones.find("Torn").error().code, ErrorCode::kInvalidArgs);
    EXPECT_EQ(zones.find("Text").error().code, ErrorCode::kInvalidArgs);
    std::filesystem::remove(copied);
    EXPECT_TRUE(zones.find("Berlin"));
    EXPECT_FALSE(zones.find("Europe/Berlin"));
}

}  // namespace
}  // namespace crab::cron
