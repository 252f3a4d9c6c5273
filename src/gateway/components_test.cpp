#include "gateway/components.hpp"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::gateway {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

using Story = std::vector<std::string>;

/// Writes down what is done to it.
class Fake : public Component {
public:
    Fake(std::string name, Story& story) : name_(std::move(name)), story_(story) {}
    ~Fake() override { tell("destroyed"); }
    std::string_view name() const override { return name_; }
    Result<void> start() override {
        tell("start");
        return {};
    }
    void begin() override { tell("begin"); }
    Result<Change> prepare(const config::GatewayConfig& next) override {
        if (next.gateway.name == "refused by " + name_)
            return fail(ErrorCode::kInvalidArgs, name_ + " refuses it");
        return [this] { tell("apply"); };
    }
    void drain() override { tell("drain"); }
    void stop(Deadline) override { tell("stop"); }

protected:
    void tell(std::string_view what) { story_.push_back(name_ + " " + std::string(what)); }

private:
    const std::string name_;
    Story& story_;
};

/// Does not stop for as long as it may, and a bit.
class Hanging final : public Fake {
public:
    using Fake::Fake;
    Milliseconds stop_limit() const override { return 20ms; }
    void stop(Deadline deadline) override {
        std::this_thread::sleep_until(deadline + 20ms);
        tell("gives up");
    }
};

class ComponentsTest : public testing::Test {
protected:
    void add_three() {
        for (const char* name : {"one", "two", "three"}) components.add<Fake>(name, story);
    }

    RealClock clock;
    Story story;
    core::MetricsPage page;
    Components components{clock};
};

TEST_F(ComponentsTest, StartInOrderDrainAndStopInReverse) {
    add_three();
    ASSERT_TRUE(components.start());
    components.begin(page);
    components.stop();
    components.stop();
    EXPECT_THAT(story, ElementsAre("one start", "two start", "three start", "one begin",
                                   "two begin", "three begin", "three drain", "two drain",
                                   "one drain", "three stop", "two stop", "one stop"));
}

TEST_F(ComponentsTest, AreDestroyedInReverse) {
    {
        Components some(clock);
        some.add<Fake>("one", story);
        some.add<Fake>("two", story);
    }
    EXPECT_THAT(story, ElementsAre("two destroyed", "one destroyed"));
}

TEST_F(ComponentsTest, WhicheverStartFailsThoseBeforeItStop) {
    for (std::string_view failing : {"one", "two", "three"}) {
        story.clear();
        Story expected;
        Components some(clock);
        for (const char* name : {"one", "two", "three"}) some.add<Fake>(name, story);
        some.fail_start_of(failing);
        const auto started = some.start();
        ASSERT_FALSE(started) << failing;
        const std::size_t before = failing == "one" ? 0 : failing == "two" ? 1 : 2;
        const Story names{"one", "two", "three"};
        for (std::size_t i = 0; i < before; ++i) expected.push_back(names[i] + " start");
        for (std::size_t i = before; i > 0; --i) expected.push_back(names[i - 1] + " drain");
        for (std::size_t i = before; i > 0; --i) expected.push_back(names[i - 1] + " stop");
        EXPECT_EQ(story, expected) << failing;
    }
}

TEST_F(ComponentsTest, OneThatHangsIsNamedInTheLogAndTheOthersStop) {
    components.add<Fake>("before", story);
    components.add<Hanging>("hanging", story);
    ASSERT_TRUE(components.start());
    testing::internal::CaptureStderr();
    components.stop();
    const std::string logged = testing::internal::GetCapturedStderr();
    EXPECT_THAT(logged, HasSubstr("a component has not stopped in its time"));
    EXPECT_THAT(logged, HasSubstr("hanging"));
    EXPECT_THAT(logged, testing::Not(HasSubstr("before")));
    EXPECT_EQ(story.back(), "before stop");
}

TEST_F(ComponentsTest, AReloadIsAppliedByAll) {
    add_three();
    ASSERT_TRUE(components.start());
    story.clear();
    EXPECT_TRUE(components.reload({}));
    EXPECT_THAT(story, ElementsAre("one apply", "two apply", "three apply"));
}

TEST_F(ComponentsTest, AReloadThatOneRefusesChangesNothing) {
    add_three();
    ASSERT_TRUE(components.start());
    story.clear();
    config::GatewayConfig next;
    next.gateway.name = "refused by three";
    const auto reloaded = components.reload(next);
    ASSERT_FALSE(reloaded);
    EXPECT_EQ(reloaded.error().message, "three refuses it");
    EXPECT_TRUE(story.empty());
}

TEST_F(ComponentsTest, TheHealthOfEachIsAMetric) {
    class Ill final : public Fake {
    public:
        using Fake::Fake;
        Health health() const override { return {.ok = false, .reason = "disk full"}; }
    };
    components.add<Fake>("well", story);
    components.add<Ill>("ill", story);
    std::string out;
    components.append_health(out);
    EXPECT_THAT(out, HasSubstr("crab_component_healthy{component=\"well\"} 1\n"));
    EXPECT_THAT(out, HasSubstr("crab_component_healthy{component=\"ill\"} 0\n"));
}

}  // namespace
}  // namespace crab::gateway
