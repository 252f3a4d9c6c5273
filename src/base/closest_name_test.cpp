#include "base/closest_name.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace crab {
namespace {

const std::vector<std::string> kNames{"camera.take_photo", "sms.send", "location", "echo"};

TEST(ClosestName, FindsWhatAFewSlipsMeant) {
    EXPECT_EQ(closest_name("camera.take_phtoo", kNames), "camera.take_photo");
    EXPECT_EQ(closest_name("Camera.Take_Photo", kNames), "camera.take_photo");
    EXPECT_EQ(closest_name("sms.sned", kNames), "sms.send");
    EXPECT_EQ(closest_name("ehco", kNames), "echo");
    EXPECT_EQ(closest_name("locations", kNames), "location");
}

TEST(ClosestName, SaysNothingWhereNothingIsNear) {
    EXPECT_EQ(closest_name("weather.today", kNames), "");
    EXPECT_EQ(closest_name("", kNames), "");
    EXPECT_EQ(closest_name("echo", {}), "");
}

TEST(ClosestName, TheNearestWinsAndOfEquallyNearOnesTheFirst) {
    const std::vector<std::string> names{"read_files", "read_file", "read_fire"};
    EXPECT_EQ(closest_name("read_file", names), "read_file");
    EXPECT_EQ(closest_name("read_fike", names), "read_file");
}

}  // namespace
}  // namespace crab
