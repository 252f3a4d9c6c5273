#include "hosts/cron/cron_occurrences.hpp"

#include "hosts/cron/time_zones.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace crab::cron {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;
using std::chrono::floor;
using std::chrono::minutes;
using std::chrono::sys_days;
using std::chrono::year_month_day;

/// UTC, `2026-03-29 01:00`.
std::string text_of(SysMinutes time) { return to_rfc3339(time).replace(10, 1, " ").substr(0, 16); }

TimeZones& zones() {
    static TimeZones all;
    return all;
}
CronOccurrences occurrences(const std::string& schedule, const std::string& zone) {
    return {CronSchedule::parse(schedule).value(), zones().find(zone).value()};
}

/// All occurrences in UTC from `from` on, as many as `count`.
std::vector<std::string> list(const std::string& schedule, const std::string& zone, SystemTime from,
                              int count) {
    const CronOccurrences all = occurrences(schedule, zone);
    std::vector<std::string> found;
    for (SystemTime time = from; count > 0; --count) {
        const SysMinutes next = all.next_after(time).value();
        found.push_back(text_of(next));
        time = next;
    }
    return found;
}
using Texts = std::vector<std::string>;

TEST(CronOccurrences, TheFirstOneBeginsAfterTheGivenTime) {
    const SystemTime noon = sys_days(2026y / 8 / 1) + 12h;
    EXPECT_EQ(list("* * * * *", "UTC", noon, 2), (Texts{"2026-08-01 12:01", "2026-08-01 12:02"}));
    EXPECT_EQ(list("* * * * *", "UTC", noon - 1ns, 1), (Texts{"2026-08-01 12:00"}));
    EXPECT_EQ(list("* * * * *", "UTC", noon + 59s + 999ms, 1), (Texts{"2026-08-01 12:01"}));
    EXPECT_EQ(list("0 0 29 2 *", "UTC", sys_days(2096y / 2 / 29), 1), (Texts{"2104-02-29 00:00"}))
        << "eight years around 2100";
    EXPECT_EQ(list("45 5 * * *", "Asia/Kathmandu", noon, 2),
              (Texts{"2026-08-02 00:00", "2026-08-03 00:00"}));
}

// Berlin: 2026-03-29 02:00 +1 becomes 03:00 +2; 2026-10-25 03:00 +2 becomes 02:00 +1.
TEST(CronOccurrences, WhatAGapSkippedFiresOnceRightAfterIt) {
    const SystemTime before = sys_days(2026y / 3 / 28) + 12h;
    EXPECT_EQ(list("30 2 * * *", "Europe/Berlin", before, 2),
              (Texts{"2026-03-29 01:00", "2026-03-30 00:30"}));
    EXPECT_EQ(list("*/15 2 * * *", "Europe/Berlin", before, 2),
              (Texts{"2026-03-29 01:00", "2026-03-30 00:00"}))
        << "four were skipped";
    EXPECT_EQ(list("0 2,3 * * *", "Europe/Berlin", before, 2),
              (Texts{"2026-03-29 01:00", "2026-03-30 00:00"}))
        << "03:00 itself matches: once";
    EXPECT_EQ(list("59 1 * * *", "Europe/Berlin", before, 2),
              (Texts{"2026-03-29 00:59", "2026-03-29 23:59"}));
}

TEST(CronOccurrences, AGapIsNothingToAJobOfEveryHour) {
    const SystemTime before = sys_days(2026y / 3 / 29) + 0h;
    EXPECT_EQ(list("30 * * * *", "Europe/Berlin", before, 3),
              (Texts{"2026-03-29 00:30", "2026-03-29 01:30", "2026-03-29 02:30"}));
    EXPECT_EQ(list("0 */2 * * *", "Europe/Berlin", before - 2h, 3),
              (Texts{"2026-03-28 23:00", "2026-03-29 02:00", "2026-03-29 04:00"}))
        << "02:00 never reads";
}

TEST(CronOccurrences, ARepeatedHourCountsTheFirstTimeOnly) {
    const SystemTime before = sys_days(2026y / 10 / 24) + 12h;
    EXPECT_EQ(list("30 2 * * *", "Europe/Berlin", before, 2),
              (Texts{"2026-10-25 00:30", "2026-10-26 01:30"}));
    EXPECT_EQ(list("0 2-3 * * *", "Europe/Berlin", before, 3),
              (Texts{"2026-10-25 00:00", "2026-10-25 02:00", "2026-10-26 01:00"}));
    EXPECT_EQ(list("*/30 2 * * *", "Europe/Berlin", SystemTime(sys_days(2026y / 10 / 25) + 1h), 1),
              (Texts{"2026-10-26 01:00"}))
        << "asked inside the repeated hour";
}

TEST(CronOccurrences, AJobOfEveryHourFiresInBothPassesOfARepeatedHour) {
    const SystemTime before = sys_days(2026y / 10 / 25) + 0h;
    EXPECT_EQ(list("30 * * * *", "Europe/Berlin", before, 3),
              (Texts{"2026-10-25 00:30", "2026-10-25 01:30", "2026-10-25 02:30"}));
    EXPECT_EQ(list("30 */2 * * *", "Europe/Berlin", before, 3),
              (Texts{"2026-10-25 00:30", "2026-10-25 01:30", "2026-10-25 03:30"}));
}

TEST(CronOccurrences, NewYorkChangesOnItsOwnDays) {
    EXPECT_EQ(list("30 2 * * *", "America/New_York", sys_days(2026y / 3 / 7) + 12h, 2),
              (Texts{"2026-03-08 07:00", "2026-03-09 06:30"}));
    EXPECT_EQ(list("30 1 * * *", "America/New_York", sys_days(2026y / 10 / 31) + 12h, 2),
              (Texts{"2026-11-01 05:30", "2026-11-02 06:30"}));
    EXPECT_EQ(list("30 2 * * *", "America/New_York", sys_days(2060y / 3 / 13) + 12h, 1),
              (Texts{"2060-03-14 07:00"}))
        << "by the rule of the footer";
}

// Lord Howe: 2026-10-04 02:00 +10:30 becomes 02:30 +11; 2026-04-05 02:00 +11 becomes 01:30 +10:30.
TEST(CronOccurrences, LordHoweMovesByHalfAnHour) {
    EXPECT_EQ(list("15 2 * * *", "Australia/Lord_Howe", sys_days(2026y / 10 / 3), 2),
              (Texts{"2026-10-03 15:30", "2026-10-04 15:15"}));
    EXPECT_EQ(list("45 2 * * *", "Australia/Lord_Howe", sys_days(2026y / 10 / 3), 1),
              (Texts{"2026-10-03 15:45"}))
        << "not skipped";
    EXPECT_EQ(list("45 1 * * *", "Australia/Lord_Howe", sys_days(2026y / 4 / 4), 2),
              (Texts{"2026-04-04 14:45", "2026-04-05 15:15"}));
    EXPECT_EQ(list("45 * * * *", "Australia/Lord_Howe", sys_days(2026y / 4 / 4) + 14h, 3),
              (Texts{"2026-04-04 14:45", "2026-04-04 15:15", "2026-04-04 16:15"}));
}

// Casablanca is at +1 and goes to +0 for Ramadan: 2026-02-15 03:00 becomes 02:00, 2026-03-22 02:00
// becomes 03:00.
TEST(CronOccurrences, CasablancaGoesBackForRamadan) {
    EXPECT_EQ(list("30 2 * * *", "Africa/Casablanca", sys_days(2026y / 2 / 14) + 12h, 2),
              (Texts{"2026-02-15 01:30", "2026-02-16 02:30"}));
    EXPECT_EQ(list("30 2 * * *", "Africa/Casablanca", sys_days(2026y / 3 / 21) + 12h, 2),
              (Texts{"2026-03-22 02:00", "2026-03-23 01:30"}));
}

TEST(CronOccurrences, ADayThatAPlaceLeftOutFiresAfterTheLeap) {
    EXPECT_EQ(list("0 12 30 12 *", "Pacific/Apia", sys_days(2011y / 12 / 29), 1),
              (Texts{"2011-12-30 10:00"}))
        << "Apia went from the 29th to the 31st";
}

TEST(CronOccurrences, TheLatestIsFoundWithoutWalkingThroughAll) {
    const auto all = occurrences("*/7 3 * * 1-5", "Europe/Berlin");
    const SysMinutes first = all.next_after(sys_days(2026y / 1 / 1)).value();
    std::mt19937 random(7);
    for (int i = 0; i < 50; ++i) {
        const SysMinutes until = first + minutes(std::uniform_int_distribution(0, 100'000)(random));
        SysMinutes walked = first;
        for (auto next = all.next_after(walked); next && *next <= until;
             next = all.next_after(walked))
            walked = *next;
        EXPECT_EQ(all.latest(first, until), walked);
    }
    EXPECT_EQ(all.latest(first, first), first);
}

/// A schedule as sets of values, and as text.
struct RandomSchedule {
    std::vector<bool> minutes = std::vector<bool>(60), hours = std::vector<bool>(24),
                      days = std::vector<bool>(32), months = std::vector<bool>(13),
                      weekdays = std::vector<bool>(8);
    bool star_hour = false, any_day = false, any_weekday = false;
    std::string text;

    template <class Random>
    explicit RandomSchedule(Random& random) {
        field(random, minutes, 0, 59);
        star_hour = field(random, hours, 0, 23);
        any_day = plain_star(random, days, 1, 31);
        field(random, months, 1, 12);
        any_weekday = plain_star(random, weekdays, 0, 7);
        if (weekdays[7]) weekdays[0] = true;
    }
    bool matches(LocalMinutes time) const {
        const auto day = floor<std::chrono::days>(time);
        const auto minute = static_cast<std::size_t>((time - day).count());
        const year_month_day date(day);
        const bool by_day = days[static_cast<unsigned>(date.day())],
                   by_weekday = weekdays[std::chrono::weekday(day).c_encoding()];
        return minutes[minute % 60] && hours[minute / 60] &&
               months[static_cast<unsigned>(date.month())] &&
               (any_day || any_weekday ? by_day && by_weekday : by_day || by_weekday);
    }

private:
    /// Returns whether the field begins with a star.
    template <class Random>
    bool field(Random& random, std::vector<bool>& values, int low, int high) {
        const auto pick = [&](int from, int to) {
            return std::uniform_int_distribution(from, to)(random);
        };
        if (!text.empty()) text += ' ';
        bool star = false;
        for (int item = 0, items = pick(1, 3); item < items; ++item) {
            if (item > 0) text += ',';
            int from = low, to = high, step = 1;
            switch (pick(0, 4)) {
                case 0:
                    text += "*";
                    star |= item == 0;
                    break;
                case 1:
                    step = pick(1, 30);
                    text += "*/" + std::to_string(step);
                    star |= item == 0;
                    break;
                case 2:
                    from = to = pick(low, high);
                    text += std::to_string(from);
                    break;
                default:
                    from = pick(low, high);
                    to = pick(from, high);
                    step = pick(1, 5);
                    text += std::to_string(from) + "-" + std::to_string(to) +
                            (step > 1 ? "/" + std::to_string(step) : "");
            }
            for (int value = from; value <= to; value += step)
                values[static_cast<std::size_t>(value)] = true;
        }
        return star;
    }
    template <class Random>
    bool plain_star(Random& random, std::vector<bool>& values, int low, int high) {
        const std::size_t begin = text.size() + 1;
        field(random, values, low, high);
        const std::string written = "," + text.substr(begin) + ",";
        return written.find(",*,") != std::string::npos;
    }
};

TEST(CronOccurrences, AgreesWithAWalkThroughEveryMinute) {
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::vector<std::string> names{"Europe/Berlin",       "America/New_York",
                                         "Australia/Lord_Howe", "Asia/Kathmandu",
                                         "Africa/Casablanca",   "Pacific/Apia",
                                         "Europe/Dublin",       "America/Scoresbysund",
                                         "Antarctica/Troll",    "UTC"};
    for (int round = 0; round < 200; ++round) {
        const RandomSchedule wanted(random);
        const auto schedule = CronSchedule::parse(wanted.text);
        if (!schedule) continue;   // a date that never comes
        const std::string& name = names[static_cast<std::size_t>(round) % names.size()];
        const auto zone = zones().find(name).value();
        // Half of the walks begin near a change of the clock.
        SysMinutes start = sys_days(1990y / 1 / 1) +
                           minutes(std::uniform_int_distribution(0, 60 * 365 * 24 * 60)(random));
        if (const ZoneSpan span = zone.span_from(start);
            round % 2 == 0 && span.end != std::chrono::sys_seconds::max()) {
            start = floor<minutes>(span.end) -
                    minutes(std::uniform_int_distribution(-180, 1440)(random));
        }
        std::vector<SysMinutes> walked;
        LocalMinutes highest = LocalMinutes::min();
        for (SysMinutes time = start - days(3); time < start + days(4); time += 1min) {
            const LocalMinutes reading(time.time_since_epoch() +
                                       floor<minutes>(zone.span_from(time).offset));
            bool fires = false;
            if (wanted.star_hour) {
                fires = wanted.matches(reading);
            } else {
                LocalMinutes passed = highest == LocalMinutes::min() ? reading : highest;
                for (; passed <= reading; passed += 1min) fires |= wanted.matches(passed);
            }
            highest = std::max(highest, reading + 1min);
            if (fires && time > start) walked.push_back(time);
        }
        const CronOccurrences all(*schedule, zone);
        SystemTime from = start;
        for (const SysMinutes expected : walked) {
            const auto found = all.next_after(from);
            ASSERT_TRUE(found) << wanted.text << " in " << name << " after " << to_rfc3339(from);
            ASSERT_EQ(text_of(*found), text_of(expected))
                << wanted.text << " in " << name << " after " << to_rfc3339(from);
            from = *found;
        }
        const auto beyond = all.next_after(from);
        ASSERT_TRUE(beyond && *beyond >= start + days(4)) << wanted.text << " in " << name;
    }
}

}  // namespace
}  // namespace crab::cron
