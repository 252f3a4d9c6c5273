#include "hosts/cron/cron_schedule.hpp"

#include <array>

#include <gtest/gtest.h>

namespace crab::cron {
namespace {

using namespace std::chrono_literals;
using std::chrono::local_days;

LocalMinutes at(std::chrono::year_month_day date, std::chrono::minutes time = 0min) {
    return local_days(date) + time;
}

/// The first match from 1 August 2026, a Saturday, on, within ten years.
LocalMinutes first(const char* text) {
    const LocalMinutes from = at(2026y / 8 / 1);
    return CronSchedule::parse(text)
        .value()
        .next_match(from, from + std::chrono::days(3653))
        .value();
}

struct Accepted {
    const char* text;
    std::chrono::year_month_day date;
    std::chrono::minutes time;
};

TEST(CronSchedule, TakesFieldsOfListsRangesStepsNamesAndAliases) {
    const std::array accepted{
        Accepted{"* * * * *", 2026y / 8 / 1, 0min},
        Accepted{"* * * * 7", 2026y / 8 / 2, 0min},
        Accepted{"* * * * 0", 2026y / 8 / 2, 0min},
        Accepted{"1-9/2 * * * *", 2026y / 8 / 1, 1min},
        Accepted{"8-9/2 * * * *", 2026y / 8 / 1, 8min},
        Accepted{"*/40 5 * * *", 2026y / 8 / 1, 5h},
        Accepted{"*/1 */23 * * *", 2026y / 8 / 1, 0min},
        Accepted{"59 23 31 12 *", 2026y / 12 / 31, 23h + 59min},
        Accepted{"5,3,4-6 1 * * *", 2026y / 8 / 1, 1h + 3min},
        Accepted{"30 2 * JAN-MAR *", 2027y / 1 / 1, 2h + 30min},
        Accepted{"0 0 * sep *", 2026y / 9 / 1, 0min},
        Accepted{"0 0 * * MoN", 2026y / 8 / 3, 0min},
        Accepted{"0 12 * * tue-thu/2", 2026y / 8 / 4, 12h},
        Accepted{"0 0 * * 5-7", 2026y / 8 / 1, 0min},
        Accepted{"0 0 29 2 *", 2028y / 2 / 29, 0min},
        Accepted{"0 0 30,31 2,4 *", 2027y / 4 / 30, 0min},
        Accepted{"0 0 30 2 1", 2027y / 2 / 1, 0min},
        Accepted{"  007   0\t1  *   * ", 2026y / 8 / 1, 7min},
        Accepted{"*/999 * * * *", 2026y / 8 / 1, 0min},
        Accepted{"0-59,* * * * *", 2026y / 8 / 1, 0min},
        Accepted{"@hourly", 2026y / 8 / 1, 0min},
        Accepted{"@daily", 2026y / 8 / 1, 0min},
        Accepted{"@midnight", 2026y / 8 / 1, 0min},
        Accepted{"@weekly", 2026y / 8 / 2, 0min},
        Accepted{"@monthly", 2026y / 8 / 1, 0min},
        Accepted{"@yearly", 2027y / 1 / 1, 0min},
        Accepted{"@annually", 2027y / 1 / 1, 0min},
    };
    for (const Accepted& good : accepted) {
        ASSERT_TRUE(CronSchedule::parse(good.text))
            << good.text << ": " << CronSchedule::parse(good.text).error().message;
        EXPECT_EQ(first(good.text), at(good.date, good.time)) << good.text;
    }
}

constexpr const char* kRefused[] = {"",
                                    " ",
                                    "*",
                                    "* * * *",
                                    "* * * * * *",
                                    "*/0 * * * *",
                                    "5-1 * * * *",
                                    "60 * * * *",
                                    "* 24 * * *",
                                    "* * 0 * *",
                                    "* * 32 * *",
                                    "* * * 0 *",
                                    "* * * 13 *",
                                    "* * * * 8",
                                    "1,,2 * * * *",
                                    ",1 * * * *",
                                    "1, * * * *",
                                    "5/10 * * * *",
                                    "? * * * *",
                                    "* * ? * *",
                                    "* * L * *",
                                    "* * 15W * *",
                                    "* * * * 1#2",
                                    "* * * * 5L",
                                    "-1 * * * *",
                                    "1- * * * *",
                                    "-5 * * * *",
                                    "1-2-3 * * * *",
                                    "*-5 * * * *",
                                    "** * * * *",
                                    "*/ * * * *",
                                    "*/-1 * * * *",
                                    "*/x * * * *",
                                    "1-5/ * * * *",
                                    "1/2/3 * * * *",
                                    "1.5 * * * *",
                                    "+1 * * * *",
                                    "0x1 * * * *",
                                    "jan * * * *",
                                    "* * mon * *",
                                    "* * * mon *",
                                    "* * * * jan",
                                    "* * * january *",
                                    "* * * * SAT-SUN",
                                    "* * * * fri-",
                                    "TZ=UTC * * * * *",
                                    "CRON_TZ=Europe/Berlin 0 0 * * *",
                                    "@reboot",
                                    "@every 5m",
                                    "@Daily",
                                    "@daily *",
                                    "@",
                                    "0 0 30 2 *",
                                    "0 0 31 2,4,6,9,11 *",
                                    "0 0 31 FEB *",
                                    "99999999999999999999 * * * *",
                                    "*/99999999999999999999 * * * *",
                                    "* * * * *\n",
                                    "\xc3\xbc * * * *"};

TEST(CronSchedule, RefusesEverythingElseAndSaysWhere) {
    for (const char* text : kRefused) {
        const auto schedule = CronSchedule::parse(text);
        ASSERT_FALSE(schedule) << text;
        EXPECT_EQ(schedule.error().code, ErrorCode::kInvalidArgs);
        EXPECT_TRUE(schedule.error().message.starts_with("schedule: ")) << schedule.error().message;
    }
    EXPECT_FALSE(CronSchedule::parse(std::string(600, '*')));
    EXPECT_EQ(CronSchedule::parse("60 * * * *").error().message,
              "schedule: `60` in the minute field: 0 to 59 is allowed");
}

TEST(CronSchedule, DayOrWeekdaySufficesWhenBothAreRestricted) {
    EXPECT_EQ(first("0 0 13 * FRI"), at(2026y / 8 / 7)) << "a Friday";
    EXPECT_EQ(first("0 0 4 * FRI"), at(2026y / 8 / 4)) << "the fourth, a Tuesday";
    EXPECT_EQ(first("0 0 */2 * MON"), at(2026y / 8 / 1))
        << "`*/2` is a restriction: an odd day suffices";
    EXPECT_EQ(first("0 0 6 * */5"), at(2026y / 8 / 2)) << "`*/5`, Sunday or Friday, is one as well";
}

TEST(CronSchedule, APlainStarInDayOrWeekdayMakesBothMatch) {
    EXPECT_EQ(first("0 0 * * FRI"), at(2026y / 8 / 7));
    EXPECT_EQ(first("0 0 13 * *"), at(2026y / 8 / 13));
    EXPECT_EQ(first("0 0 31,* * FRI"), at(2026y / 8 / 7)) << "a plain star inside a list";
}

TEST(CronSchedule, SearchesFromInsideAnHourAndStopsBeforeTheEnd) {
    const auto schedule = CronSchedule::parse("10,50 3 * * *").value();
    const LocalMinutes day = at(2026y / 8 / 1);
    const auto far = day + std::chrono::days(9);
    EXPECT_EQ(schedule.next_match(day + 3h + 10min, far), day + 3h + 10min);
    EXPECT_EQ(schedule.next_match(day + 3h + 11min, far), day + 3h + 50min);
    EXPECT_EQ(schedule.next_match(day + 3h + 51min, far), day + 27h + 10min);
    EXPECT_EQ(schedule.next_match(day + 3h + 11min, day + 3h + 50min), std::nullopt);
    EXPECT_EQ(schedule.next_match(day, day), std::nullopt);
}

TEST(CronSchedule, KnowsWhetherTheHourFieldBeginsWithAStar) {
    for (const char* text : {"@hourly", "0 * * * *", "0 */2 * * *", "0 *,3 * * *"})
        EXPECT_TRUE(CronSchedule::parse(text)->runs_every_hour()) << text;
    for (const char* text : {"@daily", "0 0-23 * * *", "0 3,* * * *", "* 2 * * *"})
        EXPECT_FALSE(CronSchedule::parse(text)->runs_every_hour()) << text;
}

}  // namespace
}  // namespace crab::cron
