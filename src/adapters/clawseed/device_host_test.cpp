// Calls to a device through the real pipeline, on one loop with a clock that stands still, and at
// the end on two with threads.

#include "adapters/clawseed/device_host.hpp"

#include "adapters/clawseed/test_support.hpp"
#include "core/call/effects_lease.hpp"
#include "core/ledger/test_ledger_store.hpp"
#include "net/http/test_support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <future>
#include <set>

namespace crab::clawseed {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::IsEmpty;

class DeviceHostTest : public testing::Test {
protected:
    explicit DeviceHostTest(FairPool* lists = nullptr) : world(lists) {}

    void connect(std::string_view capabilities = "", std::string_view tool_members = "") {
        device = world.connect();
        if (!capabilities.empty())
            world.send(device,
                       fmt::format(R"({{"type":"connect","capabilities":[{}]}})", capabilities));
        world.send(
            device,
            fmt::format(R"({{"type":"register_tools","tools":[{{"name":"read","description":"d",)"
                        R"("parameters":{{}}{}}}]}})",
                        tool_members));
        device->frames.clear();
    }
    std::string id(std::size_t request = 0) const {
        return text_of(device->of("tool_call_request").at(request), "id");
    }
    void reply(const std::shared_ptr<Client>& on, const std::string& call,
               std::string_view output) {
        world.send(
            on, fmt::format(R"({{"type":"tool_result","id":"{}","output":"{}"}})", call, output));
    }
    static ErrorCode code(const CallProbe& call) {
        return call.outcome && !*call.outcome ? call.outcome->error().code : ErrorCode{255};
    }
    void cancel(CallProbe& call) {
        world.on_loop([&] { call.canceller.emit(); });
    }

    World world;
    std::shared_ptr<Client> device;
};

struct OnePool {
    FairPool pool{1};
};

/// Lists of tools are read on a pool, as a gateway reads them.
class DeviceHostListTest : OnePool, public DeviceHostTest {
protected:
    DeviceHostListTest() : DeviceHostTest(&pool) {}
    /// What is posted to the pool from now on waits for go_on().
    void hold() {
        pool.post("others", [gone = go_.get_future().share()] {
            gone.wait();
            return false;
        });
    }
    void settle() {
        pool.settle();
        world.settle();
    }
    void go_on() {
        go_.set_value();
        settle();
    }

private:
    std::promise<void> go_;
};

TEST_F(DeviceHostTest, Item19_AReplyCompletesItsCallAndIsAcknowledged) {
    connect();
    const auto call = world.start_call(world.owner, "read", R"({"room":"kitchen"})");
    EXPECT_EQ(*device->of("tool_call_request").at(0).find("args"),
              Value::parse(R"({"room":"kitchen"})").value());
    EXPECT_EQ(device->of("tool_call_request").at(0).find("deadline_ms"), nullptr);
    reply(device, id(), "21.5");
    EXPECT_EQ(call->outcome.value()->content, "21.5");
    EXPECT_EQ(text_of(device->of("result_acknowledged").at(0), "id"), id());
}

TEST_F(DeviceHostTest, Item23_RepeatedLateAndUnknownRepliesAreAcknowledgedAndTheNextCallWorks) {
    connect();
    const auto first = world.start_call(world.owner, "read");
    reply(device, id(0), "one");
    reply(device, id(0), "again");
    reply(device, "0192f6c1-7a10-7c3e-9b1d-5f2a8c0e4d77", "unknown");
    reply(device, "not an id of ours", "unknown");
    EXPECT_EQ(device->of("result_acknowledged").size(), 4u);
    const auto second = world.start_call(world.owner, "read");
    EXPECT_FALSE(second->outcome);
    reply(device, id(0), "late");
    EXPECT_FALSE(second->outcome);
    reply(device, id(1), "two");
    EXPECT_EQ(first->outcome.value()->content, "one");
    EXPECT_EQ(second->outcome.value()->content, "two");
}

TEST_F(DeviceHostTest, Item24_ARepliesIdIsAStringOf1To128Characters) {
    connect();
    const auto call = world.start_call(world.owner, "read");
    for (const std::string& bad :
         {std::string(R"({"type":"tool_result","output":"x"})"),
          std::string(R"({"type":"tool_result","id":"","output":"x"})"),
          std::string(R"({"type":"tool_result","id":7})"),
          std::string(R"({"type":"tool_error","id":null})"),
          fmt::format(R"({{"type":"tool_error","id":"{}"}})", std::string(129, 'i'))}) {
        world.send(device, bad);
    }
    EXPECT_THAT(types_of(device->frames), ElementsAre("tool_call_request"));
    world.send(device, fmt::format(R"({{"type":"tool_error","id":"{}"}})", std::string(128, 'i')));
    EXPECT_EQ(device->of("result_acknowledged").size(), 1u);
    EXPECT_FALSE(call->outcome);
}

TEST_F(DeviceHostTest, Item25_CallsAreOutTogetherAndAnswersInReverseFindTheirCallers) {
    connect();
    std::vector<std::shared_ptr<CallProbe>> calls;
    std::set<std::string> ids;
    for (int i = 0; i < 3; ++i) calls.push_back(world.start_call(world.owner, "read"));
    for (std::size_t i = 0; i < 3; ++i) ids.insert(id(i));
    EXPECT_EQ(ids.size(), 3u);
    for (std::size_t i = 3; i-- > 0;) reply(device, id(i), fmt::format("answer {}", i));
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_EQ(calls[i]->outcome.value()->content, fmt::format("answer {}", i));
}

TEST_F(DeviceHostTest, Item26_ASilentDeviceTimesOutAfter30SecondsAndStaysUsable) {
    connect();
    const auto call = world.start_call(world.owner, "read");
    world.advance(29'990ms);
    EXPECT_FALSE(call->outcome);
    world.advance(20ms);
    EXPECT_EQ(code(*call), ErrorCode::kTimeout);
    EXPECT_THAT(types_of(device->frames), ElementsAre("tool_call_request"))
        << "no cancel for a client that did not list it";
    const auto next = world.start_call(world.owner, "read");
    reply(device, id(1), "awake");
    EXPECT_EQ(next->outcome.value()->content, "awake");
}

TEST_F(DeviceHostTest, Item27_TheSmallerOfTheTimeoutsWins) {
    connect("", R"(,"timeout_ms":500,"max_timeout_ms":800)");
    const auto by_tool = world.start_call(world.owner, "read");
    const auto by_caller = world.start_call(world.owner, "read", "{}", 100ms);
    const auto by_maximum = world.start_call(world.owner, "read", "{}", 60'000ms);
    world.advance(110ms);
    EXPECT_EQ(code(*by_caller), ErrorCode::kTimeout);
    world.advance(380ms);
    EXPECT_FALSE(by_tool->outcome);
    world.advance(20ms);
    EXPECT_EQ(code(*by_tool), ErrorCode::kTimeout);
    EXPECT_FALSE(by_maximum->outcome);
    world.advance(300ms);
    EXPECT_EQ(code(*by_maximum), ErrorCode::kTimeout);
}

TEST_F(DeviceHostTest, Item30_AReplyOnTheNewConnectionWithinTheGraceTimeCompletesTheCall) {
    connect();
    const auto call = world.start_call(world.owner, "read");
    const std::string request = id();
    world.break_link(device);
    world.advance(14s);
    EXPECT_FALSE(call->outcome);
    const auto back = world.connect();
    reply(back, request, "survived");
    EXPECT_EQ(call->outcome.value()->content, "survived");
    EXPECT_THAT(back->of("tool_call_request"), IsEmpty());
}

TEST_F(DeviceHostTest, Item30_AReplyOnASecondConnectionCountsWhileTheFirstIsAlive) {
    connect();
    const auto call = world.start_call(world.owner, "read");
    const auto second = world.connect();
    reply(second, id(), "from the other");
    EXPECT_EQ(call->outcome.value()->content, "from the other");
}

TEST_F(DeviceHostTest, Item31_AReplyOfAnotherPrincipalOrChatSessionIsAcknowledgedAndIgnored) {
    connect();
    const auto call = world.start_call(world.owner, "read");
    const auto stranger = world.connect(World::make_principal("stranger"), "s9");
    const auto other_chat = world.connect(world.owner, "s2");
    for (const auto& client : {stranger, other_chat}) {
        reply(client, id(), "not yours");
        EXPECT_EQ(client->of("result_acknowledged").size(), 1u);
    }
    EXPECT_FALSE(call->outcome);
    reply(device, id(), "mine");
    EXPECT_EQ(call->outcome.value()->content, "mine");
}

TEST_F(DeviceHostTest, Item32_WhenNobodyReturnsTheOutcomeIsUnknownAfterTheGraceTime) {
    connect();
    const auto call = world.start_call(world.owner, "read");
    world.break_link(device);
    world.advance(14'990ms);
    EXPECT_FALSE(call->outcome);
    world.advance(20ms);
    EXPECT_EQ(code(*call), ErrorCode::kOutcomeUnknown);
    EXPECT_FALSE(call->outcome->error().may_retry());
}

TEST_F(DeviceHostTest, Item32_NeverLaterThanTheDeadline) {
    connect();
    const auto call = world.start_call(world.owner, "read", "{}", 5'000ms);
    world.advance(1s);
    world.break_link(device);
    world.advance(3'990ms);
    EXPECT_FALSE(call->outcome);
    world.advance(20ms);
    EXPECT_EQ(code(*call), ErrorCode::kOutcomeUnknown);
}

TEST_F(DeviceHostTest, Item33_AGoodbyeEndsTheCallAtOnceAndA1000ThatAnswersOursDoesNot) {
    connect();
    const auto first = world.start_call(world.owner, "read");
    world.say_goodbye(device);
    EXPECT_EQ(code(*first), ErrorCode::kOutcomeUnknown);

    connect();
    const auto second = world.start_call(world.owner, "read");
    world.on_loop([&] { device->session->close_from_anywhere(1012, "restart"); });
    EXPECT_TRUE(device->closed);
    EXPECT_FALSE(second->outcome) << "the device may come back";
    world.advance(15s + 20ms);
    EXPECT_EQ(code(*second), ErrorCode::kOutcomeUnknown);
}

TEST_F(DeviceHostTest, Item34_ACallToAConnectionThatIsGoneIsUnavailableAndMayBeRepeated) {
    connect();
    const auto tool = world.registry.snapshot();
    core::ToolRef kept = world.pipeline.resolve(*world.owner, "", "read").value();
    world.break_link(device);
    // The tool left with its connection; a call that had resolved it before must still find out.
    const core::ToolRef tools[] = {kept};
    world.registry.change(ConnectionId{77}, tools, {});
    const auto call = world.start_call(world.owner, "read");
    EXPECT_EQ(code(*call), ErrorCode::kUnavailable);
    EXPECT_TRUE(call->outcome->error().may_retry());
    world.registry.remove_owner(ConnectionId{77});
}

TEST_F(DeviceHostTest, Item61_ClientsThatListItAreToldTheDeadlineAndTheCancel) {
    connect(R"("tool_call_cancel","tool_call_request.deadline_ms")");
    const auto late = world.start_call(world.owner, "read", "{}", 700ms);
    EXPECT_EQ(device->of("tool_call_request").at(0).find("deadline_ms")->as_int64(), 700);
    const auto unwanted = world.start_call(world.owner, "read");
    cancel(*unwanted);
    EXPECT_EQ(code(*unwanted), ErrorCode::kCancelled);
    world.advance(720ms);
    EXPECT_EQ(code(*late), ErrorCode::kTimeout);
    const auto cancels = device->of("tool_call_cancel");
    ASSERT_EQ(cancels.size(), 2u);
    EXPECT_EQ(
        cancels[0],
        Value::parse(
            fmt::format(R"({{"type":"tool_call_cancel","id":"{}","reason":"cancelled"}})", id(1)))
            .value());
    EXPECT_EQ(
        cancels[1],
        Value::parse(
            fmt::format(R"({{"type":"tool_call_cancel","id":"{}","reason":"timeout"}})", id(0)))
            .value());
    reply(device, id(0), "late");
    EXPECT_EQ(device->of("result_acknowledged").size(), 1u);
}

TEST_F(DeviceHostTest, Item60_ACancelledCallOfAPlainClientEndsInSilence) {
    connect();
    const auto call = world.start_call(world.owner, "read");
    cancel(*call);
    EXPECT_EQ(code(*call), ErrorCode::kCancelled);
    EXPECT_THAT(types_of(device->frames), ElementsAre("tool_call_request"));
}

TEST_F(DeviceHostTest, Item62_WithoutAnAcceptanceComesAPingAndAfter5SecondsOfSilenceTheLinkIsDead) {
    connect(R"("tool_call_accepted")");
    const auto call = world.start_call(world.owner, "read");
    // A client that is frozen: it reads nothing, so it answers no ping either.
    world.on_loop([&] { device->socket->pause_reading(); });
    world.advance(2'990ms);
    world.advance(20ms);
    EXPECT_TRUE(device->session->connection() != ConnectionId{});
    world.advance(5'020ms);
    EXPECT_EQ(world.hub.connections(), 0u) << "the link was dropped";
    EXPECT_FALSE(call->outcome) << "it may come back within the grace period";
    world.advance(15s + 20ms);
    EXPECT_EQ(code(*call), ErrorCode::kOutcomeUnknown);
}

TEST_F(DeviceHostTest, Item62_AClientThatAnswersThePingOrAcceptsKeepsItsLink) {
    connect(R"("tool_call_accepted")");
    const auto first = world.start_call(world.owner, "read");
    world.advance(3'020ms);  // the ping, which the client's socket answers
    world.advance(5'020ms);
    EXPECT_EQ(world.hub.connections(), 1u);
    reply(device, id(0), "slow");
    EXPECT_EQ(first->outcome.value()->content, "slow");

    const auto second = world.start_call(world.owner, "read");
    world.send(device, fmt::format(R"({{"type":"tool_call_accepted","id":"{}"}})", id(1)));
    world.on_loop([&] { device->socket->pause_reading(); });
    world.advance(3'020ms);
    world.advance(5'020ms);
    EXPECT_EQ(world.hub.connections(), 1u) << "accepted: nobody pings it";
    EXPECT_FALSE(second->outcome);
}

TEST_F(DeviceHostTest, Item62_ProgressReachesTheCallerAndMovesNoDeadline) {
    connect();
    const auto call = world.start_call(world.owner, "read", "{}", 1'000ms);
    for (int i = 0; i < 3; ++i) {
        world.send(
            device,
            fmt::format(
                R"({{"type":"tool_call_progress","id":"{}","message":"step {}","progress":{},)"
                R"("total":3}})",
                id(), i, i));
        world.advance(300ms);
    }
    ASSERT_EQ(call->progress.size(), 3u);
    EXPECT_EQ(call->progress[2].message, "step 2");
    EXPECT_EQ(call->progress[2].progress, 2.0);
    EXPECT_EQ(call->progress[2].total, 3.0);
    world.advance(120ms);
    EXPECT_EQ(code(*call), ErrorCode::kTimeout);
    world.send(device,
               fmt::format(R"({{"type":"tool_call_progress","id":"{}","message":"late"}})", id()));
    EXPECT_EQ(call->progress.size(), 3u);
}

TEST_F(DeviceHostTest, BeyondTheLimitOfCallsOutTheNextOnesWaitInOrder) {
    connect();
    std::vector<std::shared_ptr<CallProbe>> calls;
    for (int i = 0; i < 67; ++i)
        calls.push_back(world.start_call(world.owner, "read", fmt::format(R"({{"n":{}}})", i)));
    EXPECT_EQ(device->of("tool_call_request").size(), 64u);
    for (std::size_t i = 0; i < 2; ++i) reply(device, id(i), "done");
    EXPECT_EQ(device->of("tool_call_request").size(), 66u);
    EXPECT_EQ(*device->of("tool_call_request").at(64).find("args"),
              Value::parse(R"({"n":64})").value());
    EXPECT_EQ(*device->of("tool_call_request").at(65).find("args"),
              Value::parse(R"({"n":65})").value());
    for (std::size_t i = 2; i < 66; ++i) reply(device, id(i), "done");
    reply(device, id(66), "last");
    for (const auto& call : calls) EXPECT_TRUE(call->outcome && *call->outcome);
    EXPECT_EQ(calls.back()->outcome.value()->content, "last");
}

TEST_F(DeviceHostTest, TheLineForADeviceIsBoundedAndEndsWithDeadlineCancelAndLink) {
    connect();
    std::vector<std::shared_ptr<CallProbe>> out, waiting;
    for (int i = 0; i < 64; ++i) out.push_back(world.start_call(world.owner, "read"));
    for (int i = 0; i < 257; ++i)
        waiting.push_back(world.start_call(
            world.owner, "read", "{}", i == 0 ? std::optional(Milliseconds(100)) : std::nullopt));
    const auto too_many = world.start_call(world.owner, "read");
    EXPECT_EQ(code(*too_many), ErrorCode::kRateLimited);
    EXPECT_TRUE(too_many->outcome->error().retry_after);
    world.advance(150ms);
    EXPECT_EQ(code(*waiting[0]), ErrorCode::kRateLimited) << "its deadline passed while it waited";
    cancel(*waiting[1]);
    EXPECT_EQ(code(*waiting[1]), ErrorCode::kCancelled);
    EXPECT_FALSE(waiting[2]->outcome);
    EXPECT_EQ(device->of("tool_call_request").size(), 64u);
    world.break_link(device);
    for (std::size_t i = 2; i < waiting.size(); ++i) {
        ASSERT_EQ(code(*waiting[i]), ErrorCode::kUnavailable) << i;
        ASSERT_TRUE(waiting[i]->outcome->error().may_retry());
    }
}

/// Of a gateway in a fleet; says whether its lease holds.
struct TestLease final : core::EffectsLease {
    std::uint32_t incarnation() const override { return now; }
    bool holds(std::uint32_t of) const override { return of == now; }
    std::uint32_t now = 1;
};

/// Calls are recorded under a lease.
struct DeviceHostLeaseTest : DeviceHostTest {
    TestLease lease;
    core::LedgerStoreMemory store;
    core::LedgerJournal journal{store, world.pool, world.clock};
    core::Pipeline leased{{.clock = world.clock,
                           .registry = world.registry,
                           .rules = world.rules,
                           .ledger = world.ledger,
                           .early_cancels = world.early_cancels,
                           .audit = world.audit,
                           .journal = &journal,
                           .lease = &lease},
                          world.loop.executor(),
                          world.loop.timers(),
                          world.loop.ids()};
    DeviceHostLeaseTest() { world.runs = &leased; }
    void connect_with_effects(std::string_view capabilities = "") {
        connect(capabilities, R"(,"annotations":{"destructive":true})");
    }
    std::size_t requests() const { return device->of("tool_call_request").size(); }
};

TEST_F(DeviceHostLeaseTest, WhoseLeaseRanOutWhileItWaitedForItsTurnIsNotSent) {
    connect_with_effects();
    std::vector<std::shared_ptr<CallProbe>> out;
    for (int i = 0; i < 64; ++i)
        out.push_back(world.start_call(world.owner, "read", fmt::format(R"({{"n":{}}})", i)));
    ASSERT_EQ(requests(), 64u);
    const auto waiting = world.start_call(world.owner, "read", R"({"n":64})");
    ASSERT_EQ(store.entries(), 65u) << "it is recorded, and waits for the device";
    lease.now = 2;  // fenced off: another node may have run it meanwhile
    reply(device, id(0), "done");
    EXPECT_EQ(requests(), 64u);
    EXPECT_EQ(code(*waiting), ErrorCode::kUnavailable);
    EXPECT_TRUE(waiting->outcome->error().may_retry());
    EXPECT_EQ(store.entries(), 64u) << "it was released";
    EXPECT_EQ(out[0]->outcome.value()->content, "done") << "what was sent may still end";
    const auto next = world.start_call(world.owner, "read", R"({"n":65})");
    ASSERT_EQ(requests(), 65u) << "under the new incarnation";
    reply(device, id(64), "new");
    EXPECT_EQ(next->outcome.value()->content, "new");
    for (std::size_t i = 1; i < 64; ++i) reply(device, id(i), "done");
}

TEST_F(DeviceHostLeaseTest, WithoutItsLeaseNoRequestIsSentAgain) {
    connect_with_effects(R"("tool_call_accepted","tool_call_resume")");
    const auto call = world.start_call(world.owner, "read");
    ASSERT_EQ(requests(), 1u);
    lease.now = 2;
    world.advance(3s);  // nothing was accepted: it would be asked again now
    EXPECT_EQ(requests(), 1u);
    reply(device, id(), "late");
    EXPECT_EQ(call->outcome.value()->content, "late");
}

/// Of a node of a fleet; the device lets its calls go on.
struct DeviceHostFleetTest : DeviceHostLeaseTest {
    struct NoOthers final : OtherNodes {
        void arrived(ConnectionId, std::string, std::string, std::string) override {}
    } others;
    /// The same database, and nothing in memory: as another node.
    core::Ledger forgotten{world.clock, {}};
    core::Pipeline elsewhere{{.clock = world.clock,
                              .registry = world.registry,
                              .rules = world.rules,
                              .ledger = forgotten,
                              .early_cancels = world.early_cancels,
                              .audit = world.audit,
                              .journal = &journal,
                              .lease = &lease},
                             world.loop.executor(),
                             world.loop.timers(),
                             world.loop.ids()};
    DeviceHostFleetTest() {
        world.hub.set_other_nodes(&others);
        world.key = "out-1";
    }
    ~DeviceHostFleetTest() override { world.hub.set_other_nodes(nullptr); }
    void link(std::string_view instance = "one") {
        device = world.connect();
        world.send(device, fmt::format(R"({{"type":"connect","capabilities":["tool_call_resume"],)"
                                       R"("instance":"{}"}})",
                                       instance));
        world.send(device, R"({"type":"register_tools","tools":[{"name":"read","description":"d",)"
                           R"("parameters":{},"annotations":{"destructive":true}}]})");
        device->frames.clear();
    }
    std::size_t acknowledged() const { return device->of("result_acknowledged").size(); }
    /// A call whose node has died: its record is open, and it was sent under this id.
    std::string orphan() {
        link();
        store.refuse(core::LedgerStoreMemory::Refuse::kEnds);
        const auto call = world.start_call(world.owner, "read");
        const std::string request = id();
        world.break_link(device);
        world.advance(16s);
        EXPECT_EQ(code(*call), ErrorCode::kOutcomeUnknown);
        store.refuse(core::LedgerStoreMemory::Refuse::kNothing);
        world.runs = &elsewhere;
        return request;
    }
};

TEST_F(DeviceHostFleetTest, AnAnswerIsAcknowledgedWhenItIsRecorded) {
    link();
    const auto call = world.start_call(world.owner, "read");
    reply(device, id(), "21.5");
    EXPECT_EQ(call->outcome.value()->content, "21.5");
    EXPECT_EQ(acknowledged(), 1u);
    reply(device, id(), "21.5");  // as if that had been lost
    EXPECT_EQ(acknowledged(), 2u);
}

TEST_F(DeviceHostFleetTest, AnAnswerThatCannotBeRecordedIsKeptByTheDevice) {
    link();
    store.refuse(core::LedgerStoreMemory::Refuse::kEnds);
    const auto call = world.start_call(world.owner, "read");
    reply(device, id(), "21.5");
    EXPECT_EQ(call->outcome.value()->content, "21.5");
    reply(device, id(), "21.5");
    EXPECT_EQ(acknowledged(), 0u) << "whoever adopts the call will ask for it";
}

TEST_F(DeviceHostFleetTest, ACallWhoseNodeHasDiedIsAskedForUnderItsId) {
    const std::string request = orphan();
    link();
    reply(device, request, "early");
    EXPECT_EQ(acknowledged(), 0u);
    const auto call = world.start_call(world.owner, "read");
    ASSERT_EQ(requests(), 1u);
    EXPECT_EQ(id(), request);
    EXPECT_FALSE(call->outcome);
    reply(device, request, "21.5");
    EXPECT_EQ(call->outcome.value()->content, "21.5");
    EXPECT_EQ(acknowledged(), 1u);
    EXPECT_EQ(world.start_call(world.owner, "read")->outcome.value()->content, "21.5");
    EXPECT_EQ(requests(), 1u);
}

TEST_F(DeviceHostFleetTest, AnotherProcessOfTheDeviceIsNotAsked) {
    orphan();
    link("two");
    EXPECT_EQ(code(*world.start_call(world.owner, "read")), ErrorCode::kOutcomeUnknown);
    EXPECT_EQ(requests(), 0u);
}

TEST_F(DeviceHostFleetTest, WhatADeviceNeedNotKnowAnyMoreIsNotAskedFor) {
    const std::string request = orphan();
    link();
    reply(device, request, "21.5");
    world.advance(61s);
    reply(device, request, "21.5");
    EXPECT_EQ(acknowledged(), 1u) << "nobody has asked for it";
    EXPECT_EQ(code(*world.start_call(world.owner, "read")), ErrorCode::kOutcomeUnknown);
    EXPECT_EQ(requests(), 0u) << "it would run again";
}

TEST_F(DeviceHostFleetTest, AnAdoptedCallIsNeverSaidNotToHaveRun) {
    orphan();
    link();
    const auto call = world.start_call(world.owner, "read");
    ASSERT_EQ(requests(), 1u);
    world.break_link(device);
    world.advance(16s);
    EXPECT_EQ(code(*call), ErrorCode::kOutcomeUnknown);
    EXPECT_EQ(store.entries(), 1u) << "it was not released";
}

TEST_F(DeviceHostTest, AReplyThatCannotBeReadIsAnsweredAtOnce) {
    connect();
    for (const std::string& output : {std::string("1e999"), std::string(R"("\ud800")"),
                                      std::string(200, '[') + std::string(200, ']')}) {
        device->frames.clear();
        const auto call = world.start_call(world.owner, "read");
        world.send(device,
                   fmt::format(R"({{"type":"tool_result","id":"{}","output":{},"success":true}})",
                               id(), output));
        ASSERT_TRUE(call->outcome) << output.substr(0, 20);
        EXPECT_EQ(code(*call), ErrorCode::kInternal);
        EXPECT_THAT(call->outcome->error().message, testing::HasSubstr("cannot be read"));
        EXPECT_THAT(types_of(device->frames),
                    ElementsAre("tool_call_request", "result_acknowledged", "error"));
        EXPECT_EQ(text_of(device->of("error").at(0), "code"), "INVALID_JSON");
    }
}

TEST_F(DeviceHostTest, OnlyExtensionsThatAreKnownBringFieldsOfTheirs) {
    device = world.connect();
    world.send(device, R"({"type":"connect","capabilities":["teleport","chat"]})");
    EXPECT_EQ(device->of("connected").at(0).find("capabilities"), nullptr);
    EXPECT_EQ(device->of("connected").at(0).find("max_message_bytes"), nullptr);
    world.send(device, R"({"type":"approval_decision","id":"x","decision":"allow"})");
    EXPECT_EQ(text_of(device->frames.back(), "type"), "error");
    const auto other = world.connect("s2");
    world.send(other, R"({"type":"connect","capabilities":["teleport","presence"]})");
    EXPECT_NE(other->of("connected").at(0).find("capabilities"), nullptr);
}

TEST_F(DeviceHostListTest, FramesBehindAListOfToolsKeepTheirOrderAndRepliesDoNotWait) {
    connect();
    settle();
    const auto call = world.start_call(world.owner, "read");
    const std::string request = id();
    hold();
    device = world.connect();
    world.send(device, R"({"type":"register_tools","tools":[{"name":"late","description":"d",)"
                       R"("parameters":{}}]})");
    world.send(device, R"({"type":"get_registered_tools"})");
    world.send(device, R"({"type":"unregister_tools","names":["late","unknown"]})");
    world.send(device, R"({"type":"get_registered_tools"})");
    world.send(device,
               fmt::format(R"({{"type":"tool_result","id":"{}","output":"at once"}})", request));
    EXPECT_THAT(types_of(device->frames), ElementsAre("session_start", "result_acknowledged"));
    EXPECT_EQ(call->outcome.value()->content, "at once");
    go_on();
    const auto& frames = device->frames;
    ASSERT_THAT(types_of(frames),
                ElementsAre("session_start", "result_acknowledged", "tools_registered",
                            "registered_tools", "tools_registered", "registered_tools"));
    EXPECT_EQ(frames[3].find("tools")->as_array()->size(), 1u);
    EXPECT_EQ(frames[4].find("count")->as_int64(), 2);
    EXPECT_EQ(frames[4].find("registered")->as_int64(), 0);
    EXPECT_EQ(frames[5].find("tools")->as_array()->size(), 0u);
}

TEST_F(DeviceHostListTest, AListThatIsReadWhenItsConnectionHasEndedRegistersNothing) {
    hold();
    device = world.connect();
    world.send(device, R"({"type":"register_tools","tools":[{"name":"late","description":"d",)"
                       R"("parameters":{}}]})");
    world.break_link(device);
    go_on();
    EXPECT_EQ(world.registry.snapshot()->size(), 0u);
}

TEST_F(DeviceHostTest, Item59_CallsOutFinishAlthoughTheirToolIsGone) {
    connect();
    const auto call = world.start_call(world.owner, "read");
    world.send(device, R"({"type":"unregister_tools","names":["read"]})");
    EXPECT_EQ(code(*world.start_call(world.owner, "read")), ErrorCode::kToolNotFound);
    reply(device, id(), "finished");
    EXPECT_EQ(call->outcome.value()->content, "finished");
}

TEST_F(DeviceHostTest, Item18_ArgumentsThatAreNoObjectAreNeverSent) {
    connect();
    const auto none = world.start_call(world.owner, "read", "");
    const auto null = world.start_call(world.owner, "read", "null");
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_EQ(*device->of("tool_call_request").at(i).find("args"), Value::parse("{}").value());
    for (const char* wrong : {"[]", "\"x\"", "7"})
        EXPECT_EQ(code(*world.start_call(world.owner, "read", wrong)), ErrorCode::kInvalidArgs);
    EXPECT_EQ(device->of("tool_call_request").size(), 2u);
}

TEST_F(DeviceHostTest, AHubForgetsTheLinksOfSessionsThatAreOver) {
    for (int i = 0; i < 300; ++i) {
        const auto client = world.connect(world.owner, fmt::format("visit-{}", i));
        world.break_link(client);
        client->session.reset();
        client->socket.reset();
    }
    EXPECT_LE(world.hub.known_links(), 128u);
}

/// A device on a loop of its own that answers each request at once, or never when it is told to.
class EchoLink final : public DeviceLink {
public:
    EchoLink(PendingReplies& replies, std::atomic<bool>& silent)
        : replies_(replies), silent_(silent) {}
    bool send_request(std::string_view frame, std::uint64_t& starts_at) override {
        starts_at = sent++;
        const Value request = Value::parse(frame).value();
        if (!silent_)
            replies_.resolve(uuid_tag(text_of(request, "id")).value(),
                             core::ToolResult{.kind = core::ContentKind::kText,
                                              .content = request.find("args")->dump(),
                                              .content_type = {},
                                              .logs = {},
                                              .usage = {}});
        return true;
    }
    void send(std::string_view) override { ++others; }
    void check_alive() override {}
    SteadyTime last_heard() const override { return {}; }
    void drop_dead_link() override {}
    std::uint64_t sent = 0;
    std::uint64_t others = 0;

private:
    PendingReplies& replies_;
    std::atomic<bool>& silent_;
};

/// One loop's pipeline; made and used on that loop.
struct CallerLoop {
    CallerLoop(const Clock& clock, core::CallServices services) : thread(clock) {
        pipeline = thread.run([&] {
            return std::make_unique<core::Pipeline>(services, thread.loop.executor(),
                                                    thread.loop.timers(), thread.loop.ids());
        });
    }
    static Task<void> call_one(core::Pipeline& pipeline, core::PrincipalRef caller, int number,
                               Milliseconds timeout, std::promise<core::Outcome>& end) {
        const std::string args = fmt::format(R"({{"n":{}}})", number);
        core::Call call;
        call.tool = "echo";
        call.args = args;
        call.timeout = timeout;
        core::FrameSink nobody;
        const core::AuthenticatedCall authenticated(call, caller);
        const core::CallEnd ended = co_await pipeline.run(authenticated, nobody);
        end.set_value(*ended.outcome);
    }
    std::future<core::Outcome> call(const core::PrincipalRef& caller, int number,
                                    Milliseconds timeout = 20s) {
        ends.emplace_back();
        auto future = ends.back().get_future();
        thread.loop.post([this, caller, number, timeout, &end = ends.back()] {
            spawn(thread.loop.executor(), call_one(*pipeline, caller, number, timeout, end),
                  [](std::exception_ptr) {});
        });
        return future;
    }
    std::deque<std::promise<core::Outcome>> ends;
    std::unique_ptr<core::Pipeline> pipeline;
    net::test::LoopThread thread;
};

/// A device on a loop of its own, and what calls to it from other loops need.
struct DeviceOnItsLoop {
    DeviceOnItsLoop() {
        device.run([&] { host->start(link); });
        core::ToolSpec spec;
        spec.name = "echo";
        auto tool = core::make_tool(spec).value();
        tool->set_source({.kind = core::SourceKind::kDevice,
                          .name = "phone",
                          .owner = caller->id,
                          .connection = connection});
        tool->host = host;
        const core::ToolRef tools[] = {tool};
        registry.change(connection, tools, {});
    }
    /// Its link breaks, and nobody returns.
    void end() {
        device.run([&] {
            host->stop();
            replies->connection_ended(connection, link.sent, LinkEnd::kBroken, clock.steady_now());
        });
    }

    RealClock clock;
    BlockingPool pool{1};
    core::Registry registry;
    Published<core::CallRules> rules{std::make_shared<const core::CallRules>(
        core::CallRules{.policy = core::Policy::make({}).value(),
                        .hooks = {},
                        .rates = std::make_shared<core::RateLimits>(std::vector<core::RateRule>{}),
                        .max_retries = 0})};
    core::AuditLog audit{std::make_shared<core::AuditStoreNone>(), pool, clock};
    core::Ledger ledger{clock, {}};
    core::EarlyCancels early_cancels;
    const core::CallServices services{.clock = clock,
                                      .registry = registry,
                                      .rules = rules,
                                      .ledger = ledger,
                                      .early_cancels = early_cancels,
                                      .audit = audit};
    const core::PrincipalRef caller = World::make_principal("phone");
    const std::shared_ptr<PendingReplies> replies = std::make_shared<PendingReplies>();
    std::atomic<bool> silent{false};
    EchoLink link{*replies, silent};
    net::test::LoopThread device{clock};
    const ConnectionId connection{1};
    const std::shared_ptr<DeviceHost> host = std::make_shared<DeviceHost>(
        device.loop, connection, replies, DeviceHost::Options{.max_calls = 10'000, .grace = 50ms});
};

TEST(DeviceHostThreads, CallsOfTwoLoopsReachADeviceOnAThirdAndItsEndReachesThemAll) {
    DeviceOnItsLoop phone;
    const core::PrincipalRef& caller = phone.caller;
    {
        CallerLoop one(phone.clock, phone.services), two(phone.clock, phone.services);
        std::vector<std::pair<int, std::future<core::Outcome>>> calls;
        for (int i = 0; i < 200; ++i) {
            calls.emplace_back(i, one.call(caller, i));
            calls.emplace_back(1'000 + i, two.call(caller, 1'000 + i));
        }
        for (auto& [number, end] : calls)
            EXPECT_EQ(end.get().value().content, fmt::format(R"({{"n":{}}})", number));

        phone.silent = true;
        std::vector<std::future<core::Outcome>> lost;
        for (int i = 0; i < 20; ++i) {
            lost.push_back(one.call(caller, i));
            lost.push_back(two.call(caller, i));
        }
        one.thread.run([] {});
        two.thread.run([] {});
        phone.end();
        for (auto& end : lost) EXPECT_EQ(end.get().error().code, ErrorCode::kOutcomeUnknown);
        EXPECT_EQ(one.call(caller, 0).get().error().code, ErrorCode::kUnavailable)
            << "the host outlives its link";
        phone.registry.remove_owner(phone.connection);
        one.thread.run([] {});
        two.thread.run([] {});
    }
    EXPECT_EQ(phone.replies->size(), 0u);
}

}  // namespace
}  // namespace crab::clawseed
