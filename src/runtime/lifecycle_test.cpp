#include "runtime/lifecycle.hpp"

#include "config/gateway_config.hpp"
#include "runtime/components.hpp"

#include <algorithm>
#include <stdexcept>

#include <fcntl.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::runtime {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

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

/// Does not start.
class Failing final : public Fake {
public:
    using Fake::Fake;
    Result<void> start() override { return fail(ErrorCode::kUnavailable, "this start fails"); }
};

/// Standard error as a pipe, from which another thread reads while it is written.
class LogPipe {
public:
    LogPipe() : saved_(::dup(STDERR_FILENO)) {
        if (::pipe2(ends_, O_CLOEXEC) != 0 || ::dup2(ends_[1], STDERR_FILENO) < 0)
            throw std::runtime_error("no pipe");
    }
    LogPipe(const LogPipe&) = delete;
    LogPipe& operator=(const LogPipe&) = delete;
    ~LogPipe() {
        ::dup2(saved_, STDERR_FILENO);
        for (const int fd : {saved_, ends_[0], ends_[1]}) ::close(fd);
    }
    /// Waits for the end of a line.
    std::string line() {
        std::string text;
        for (char c = 0; ::read(ends_[0], &c, 1) == 1 && c != '\n';) text += c;
        return text;
    }

private:
    const int saved_;
    int ends_[2] = {-1, -1};
};

/// Does not stop before the log has told something.
class Hanging final : public Fake {
public:
    Hanging(std::string name, Story& story, LogPipe& log)
        : Fake(std::move(name), story), log_(log) {}
    Milliseconds stop_limit() const override { return 1ms; }
    void stop(Deadline) override { tell("stops at last: " + log_.line()); }

private:
    LogPipe& log_;
};

/// A listener with one table.
class FakeListener final : public Fake {
public:
    using Fake::Fake;
    std::vector<ListenerRoutes> tables() override {
        return {{.kind = ListenerKind::kAdmin, .loop = 3, .routes = routes, .metrics = metrics}};
    }
    net::Routes<core::PrincipalRef> routes;
    net::RouteMetrics metrics;
};

/// Has a route for operators.
class FakeApi final : public Fake {
public:
    FakeApi(std::string name, std::string path, Story& story)
        : Fake(std::move(name), story), path_(std::move(path)) {}
    void add_routes(const ListenerRoutes& table) override {
        if (table.kind == ListenerKind::kAdmin)
            table.routes.add({.path = path_, .summary = "A route"},
                             [](const net::Routes<core::PrincipalRef>::Request&) {});
    }

private:
    const std::string path_;
};

class LifecycleTest : public testing::Test {
protected:
    LifecycleTest() {
        for (const char* name : {"one", "two", "three"}) components.add<Fake>(name, story);
    }

    RealClock clock;
    Story story;
    core::MetricsPage page;
    Components components;
};

TEST_F(LifecycleTest, StartInOrderDrainAndStopInReverse) {
    Lifecycle lifecycle(clock, components.in_order());
    ASSERT_TRUE(lifecycle.start());
    lifecycle.begin(page);
    lifecycle.stop();
    lifecycle.stop();
    EXPECT_THAT(story, ElementsAre("one start", "two start", "three start", "one begin",
                                   "two begin", "three begin", "three drain", "two drain",
                                   "one drain", "three stop", "two stop", "one stop"));
}

TEST_F(LifecycleTest, ComponentsAreDestroyedInReverse) {
    {
        Components some;
        some.add<Fake>("one", story);
        some.add<Fake>("two", story);
    }
    EXPECT_THAT(story, ElementsAre("two destroyed", "one destroyed"));
}

TEST_F(LifecycleTest, WhicheverStartFailsThoseBeforeItStop) {
    const Story names{"one", "two", "three"};
    for (std::size_t failing = 0; failing < names.size(); ++failing) {
        Failing one(names[failing], story);
        std::vector<Component*> some = components.in_order();
        some[failing] = &one;
        story.clear();
        Lifecycle lifecycle(clock, some);
        const auto started = lifecycle.start();
        ASSERT_FALSE(started);
        EXPECT_EQ(started.error().message, "this start fails");
        EXPECT_EQ(lifecycle.failed(), names[failing]);
        Story expected;
        for (std::size_t i = 0; i < failing; ++i) expected.push_back(names[i] + " start");
        for (std::size_t i = failing; i > 0; --i) expected.push_back(names[i - 1] + " drain");
        for (std::size_t i = failing; i > 0; --i) expected.push_back(names[i - 1] + " stop");
        EXPECT_EQ(story, expected) << names[failing];
    }
}

TEST_F(LifecycleTest, OneThatHangsIsNamedInTheLogAndTheOthersStop) {
    LogPipe log;
    components.add<Hanging>("hanging", story, log);
    Lifecycle lifecycle(clock, components.in_order());
    ASSERT_TRUE(lifecycle.start());
    lifecycle.stop();
    const auto stopped = std::ranges::find_if(
        story, [](const std::string& line) { return line.starts_with("hanging stops"); });
    ASSERT_NE(stopped, story.end());
    EXPECT_THAT(*stopped, AllOf(HasSubstr("a component has not stopped in its time"),
                                HasSubstr("component=hanging")));
    EXPECT_EQ(story.back(), "one stop");
}

TEST_F(LifecycleTest, TheRoutesOfAllComponentsAreInTheTablesOfListeners) {
    components.add<FakeApi>("before", "/v1/before", story);
    auto& listener = components.add<FakeListener>("listener", story);
    components.add<FakeApi>("after", "/v1/after", story);
    Lifecycle lifecycle(clock, components.in_order());
    ASSERT_TRUE(lifecycle.start());
    EXPECT_FALSE(listener.routes.table().find("GET", "/v1/before").found());
    lifecycle.begin(page);
    EXPECT_TRUE(listener.routes.table().find("GET", "/v1/before").found());
    EXPECT_TRUE(listener.routes.table().find("GET", "/v1/after").found());
    EXPECT_EQ(listener.routes.table().routes().size(), 2u);
}

TEST_F(LifecycleTest, RequestsAreCountedByRoutesThatComponentsAdd) {
    auto& listener = components.add<FakeListener>("listener", story);
    listener.routes.count_in(listener.metrics);
    components.add<FakeApi>("api", "/v1/one", story);
    components.add<FakeApi>("other api", "/v1/two", story);
    Lifecycle lifecycle(clock, components.in_order());
    ASSERT_TRUE(lifecycle.start());
    lifecycle.begin(page);
    listener.metrics.count(listener.routes.table().find("GET", "/v1/two"), 200, 1ms);
    EXPECT_THAT(page.text(), HasSubstr("crab_http_requests_total{listener=\"admin\",route=\"/v1/"
                                       "two\",method=\"GET\",status=\"2xx\"} 1\n"));
    EXPECT_THAT(page.text(), Not(HasSubstr("/v1/one")));
}

TEST_F(LifecycleTest, AReloadIsAppliedByAll) {
    Lifecycle lifecycle(clock, components.in_order());
    ASSERT_TRUE(lifecycle.start());
    story.clear();
    EXPECT_TRUE(lifecycle.reload({}));
    EXPECT_THAT(story, ElementsAre("one apply", "two apply", "three apply"));
}

TEST_F(LifecycleTest, AReloadThatOneRefusesChangesNothing) {
    Lifecycle lifecycle(clock, components.in_order());
    ASSERT_TRUE(lifecycle.start());
    story.clear();
    config::GatewayConfig next;
    next.gateway.name = "refused by three";
    const auto reloaded = lifecycle.reload(next);
    ASSERT_FALSE(reloaded);
    EXPECT_EQ(reloaded.error().message, "three refuses it");
    EXPECT_TRUE(story.empty());
}

TEST_F(LifecycleTest, TheHealthOfEachIsAMetric) {
    class Ill final : public Fake {
    public:
        using Fake::Fake;
        Health health() const override { return {.ok = false, .reason = "disk full"}; }
    };
    components.add<Fake>("well", story);
    components.add<Ill>("ill", story);
    std::string out;
    Lifecycle(clock, components.in_order()).append_health(out);
    EXPECT_THAT(out, HasSubstr("crab_component_healthy{component=\"well\"} 1\n"));
    EXPECT_THAT(out, HasSubstr("crab_component_healthy{component=\"ill\"} 0\n"));
}

}  // namespace
}  // namespace crab::runtime
