#include "adapters/mcp/upstreams/upstreams.hpp"

#include "adapters/mcp/upstreams/test_support.hpp"
#include "base/test_wait.hpp"
#include "core/call/test_tools.hpp"
#include "net/http/test_support.hpp"
#include "trust/test_pin_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crab::mcp {
namespace {

using test::FakeSession;
using testing::ElementsAre;
using testing::IsEmpty;
using State = UpstreamStatus::State;

struct McpUpstreams : testing::Test {
    RealClock clock;
    net::test::LoopThread thread{clock};
    core::Registry registry;
    Catalogs catalogs;
    ResourceWatches watches;
    test::FakeConnector connector;  // used on the loop
    trust::PinStoreMemory pins;
    FairPool schemas{1};
    BlockingPool files{1};
    std::unique_ptr<Upstreams> upstreams;

    McpUpstreams() {
        connector.prepare = [](FakeSession& session) {
            session.answer("tools/list",
                           R"({"tools":[{"name":"read","inputSchema":{"type":"object"}}]})");
        };
        upstreams = std::make_unique<Upstreams>(Upstreams::Uses{.home = thread.loop,
                                                                .registry = registry,
                                                                .catalogs = catalogs,
                                                                .watches = watches,
                                                                .connector = connector,
                                                                .pins = pins,
                                                                .schemas = schemas,
                                                                .files = files});
    }
    ~McpUpstreams() override { upstreams->stop(); }

    static UpstreamSettings server(std::string source, std::string url = "https://a.example/mcp",
                                   PinMode pin = PinMode::kTrustFirst) {
        UpstreamSettings settings;
        settings.connection.source = std::move(source);
        settings.connection.url = std::move(url);
        settings.pin = pin;
        return settings;
    }
    bool lists(const std::string& source) const {
        for (const UpstreamStatus& each : upstreams->status())
            if (each.source == source && each.is_listed) return true;
        return false;
    }
    Result<core::ToolRef> resolve(std::string_view name) const {
        const auto ann = core::principal_of("caller/ann");
        const auto policy = core::policy_of();
        return registry.snapshot()->resolve({.principal = ann.get(), .policy = policy.get()}, name);
    }
    std::vector<std::string> asked() {
        return thread.run([&] {
            std::vector<std::string> urls;
            for (const UpstreamOptions& each : connector.asked) urls.push_back(each.url);
            return urls;
        });
    }
    std::vector<int> closed() {
        return thread.run([&] {
            std::vector<int> all;
            for (const auto& session : connector.made) all.push_back(session->closed);
            return all;
        });
    }
    std::size_t stored(std::string_view source) { return pins.load(source).value().size(); }
};

TEST_F(McpUpstreams, OneIsStartedAndAnotherTakesItsPlace) {
    upstreams->put(server("files"));
    upstreams->put(server("wiki", "https://w.example/mcp"));
    ASSERT_TRUE(until([&] { return lists("files") && lists("wiki"); }));
    const auto place = resolve("files__read").value()->source.connection;
    upstreams->put(server("files", "https://b.example/mcp"));
    ASSERT_TRUE(until([&] { return asked().size() == 3 && lists("files"); }));
    EXPECT_EQ(asked().back(), "https://b.example/mcp");
    EXPECT_THAT(upstreams->states(), testing::SizeIs(2));
    EXPECT_THAT(upstreams->proven_eras(), testing::SizeIs(2));
    ASSERT_TRUE(until([&] { return resolve("files__read").has_value(); }));
    EXPECT_NE(resolve("files__read").value()->source.connection, place);
    EXPECT_LT(resolve("files__read").value()->source.connection,
              resolve("wiki__read").value()->source.connection)
        << "one that is changed stays the older one";
    EXPECT_TRUE(until([&] { return closed().at(0) + closed().at(1) == 1; }));
}

TEST_F(McpUpstreams, OneThatIsRemovedOffersNothingAndIsClosed) {
    upstreams->put(server("files"));
    ASSERT_TRUE(until([&] { return lists("files"); }));
    upstreams->remove("files");
    upstreams->remove("files");
    upstreams->remove("none");
    EXPECT_THAT(upstreams->states(), IsEmpty());
    EXPECT_EQ(upstreams->diff("files").error().code, ErrorCode::kNotFound);
    EXPECT_TRUE(until([&] { return !resolve("files__read"); }));
    EXPECT_TRUE(until([&] { return closed() == std::vector{1}; }));
    EXPECT_FALSE(catalogs.get()->contains("files"));
    EXPECT_GT(stored("files"), 0U) << "it may come back";
}

TEST_F(McpUpstreams, AnotherOneOfItsNameInheritsNothing) {
    upstreams->put(server("files"));
    ASSERT_TRUE(until([&] { return lists("files") && stored("files") == 2; }));
    std::atomic<int> dropped = 0;
    upstreams->forget("files", [&] { ++dropped; });
    upstreams->put(server("files", "https://a.example/mcp", PinMode::kAsk));
    ASSERT_TRUE(until([&] { return lists("files"); }));
    EXPECT_EQ(dropped, 1);
    const auto held = upstreams->diff("files");
    ASSERT_EQ(held->size(), 1U) << "though it is the same one, nobody has approved it";
    EXPECT_EQ(held->at(0).why, HeldBack::Why::kNew);
    upstreams->forget("files", {});
    EXPECT_TRUE(until([&] { return stored("files") == 0; }));
    upstreams->forget("never-there", [&] { ++dropped; });
    EXPECT_TRUE(until([&] { return dropped == 2; }));
}

TEST_F(McpUpstreams, WhatWasShownIsAcceptedFromAnyThread) {
    upstreams->put(server("files", "https://a.example/mcp", PinMode::kAsk));
    ASSERT_TRUE(until([&] { return lists("files"); }));
    const HeldBack held = upstreams->diff("files")->at(0);
    const auto accept = [&](std::string source, std::string digest) {
        using Accepted = Result<std::vector<std::string>>;
        std::promise<Accepted> done;
        net::test::LoopThread other(clock);
        spawn(other.loop.executor(),
              upstreams->accept(std::move(source), {{"tool", "read", std::move(digest)}}),
              [&](const std::exception_ptr&, std::optional<Accepted> value) {
                  done.set_value(std::move(value).value());
              });
        return done.get_future().get();
    };
    EXPECT_EQ(accept("none", held.digest).error().code, ErrorCode::kNotFound);
    EXPECT_EQ(accept("files", "0").error().code, ErrorCode::kConflict);
    EXPECT_THAT(accept("files", held.digest).value(), ElementsAre("read"));
    EXPECT_TRUE(upstreams->diff("files")->empty());
}

TEST_F(McpUpstreams, AfterTheStopNothingRunsAndNothingStarts) {
    upstreams->put(server("files"));
    upstreams->put(server("wiki"));
    ASSERT_TRUE(until([&] { return lists("files") && lists("wiki"); }));
    upstreams->forget("wiki", {});
    upstreams->stop();
    EXPECT_THAT(closed(), ElementsAre(1, 1));
    EXPECT_EQ(stored("wiki"), 0U) << "a stop does not leave it half removed";
    EXPECT_FALSE(resolve("files__read"));
    upstreams->put(server("late"));
    upstreams->forget("files", {});
    EXPECT_THAT(upstreams->states(), IsEmpty());
    EXPECT_EQ(asked().size(), 2U);
}

}  // namespace
}  // namespace crab::mcp
