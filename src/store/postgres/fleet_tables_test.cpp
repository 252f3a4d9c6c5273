#include "store/postgres/ledger_store_postgres.hpp"
#include "store/postgres/link_table_postgres.hpp"
#include "store/postgres/node_table_postgres.hpp"
#include "store/postgres/stores_postgres.hpp"
#include "store/postgres/test_cluster.hpp"
#include "store/postgres/test_ledger.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace crab::store::postgres {
namespace {

using namespace std::chrono_literals;
using core::LedgerEntry;
using core::LedgerStatus;
using fleet::Link;
using fleet::NodeName;
using fleet::NodeRow;
using fleet::NodeState;

Result<LedgerEntry> write(core::LedgerStore& store, core::LedgerChange change) {
    return store.write({std::move(change)}).front();
}

/// A process of a node: its tables, and its ledger under the incarnation that it has.
struct Node {
    Node(const ConnectionOptions& options, std::uint16_t its_number, std::uint32_t its_boot)
        : number(its_number), boot(its_boot), table(options), links(options) {
        begin();
        ledger.emplace(options, NodeRights{.self =
                                               [this] {
                                                   return NodeClaim{
                                                       .number = static_cast<std::int16_t>(number),
                                                       .incarnation = incarnation};
                                               },
                                           .is_silent = [this](NodeClaim) { return silent.load(); },
                                           .patience = 10s});
    }
    void begin() {
        incarnation = static_cast<std::int32_t>(table.begin(number, boot).value().incarnation);
    }
    NodeName name() const { return {number, static_cast<std::uint32_t>(incarnation.load())}; }

    const std::uint16_t number;
    const std::uint32_t boot;
    NodeTablePostgres table;
    LinkTablePostgres links;
    std::atomic<std::int32_t> incarnation{0};
    std::atomic<bool> silent{false};  ///< what it thinks of all others
    std::optional<LedgerStorePostgres> ledger;
};

struct FleetTablesTest : testing::Test {
    void SetUp() override {
        if (TestCluster::find() == nullptr) GTEST_SKIP() << "PostgreSQL is not installed";
        options = TestCluster::find()->new_database();
        Connection database(options);
        ASSERT_TRUE(StoresPostgres::open({.database = options, .fleet = "harbour"}));
        ASSERT_EQ(node_number(database, "north").value(), 1);
        ASSERT_EQ(node_number(database, "south").value(), 2);
        one.emplace(options, 1, 11);
        two.emplace(options, 2, 22);
    }
    /// As another node fences it.
    void fence(Node& by, const Node& other) {
        for (const NodeRow& row : by.table.read().value())
            if (row.name == other.name()) {
                EXPECT_TRUE(by.table.fence(row.name, row.beats).value());
            }
    }
    std::int64_t count(const std::string& what) {
        Connection database(options);
        return database.query("SELECT count(*) FROM " + what).value()[0].integer(0);
    }

    ConnectionOptions options;
    std::optional<Node> one, two;
};

TEST_F(FleetTablesTest, ANameKeepsItsNumberAndAnotherGetsTheNextOne) {
    Connection database(options);
    EXPECT_EQ(node_number(database, "south").value(), 2);
    EXPECT_EQ(node_number(database, "west").value(), 3);
    EXPECT_EQ(node_number(database, "north").value(), 1);
}

TEST_F(FleetTablesTest, WhoRenewsBetweenIsNotFencedOffAndWhoDoesNotIs) {
    const auto rows = one->table.read().value();
    ASSERT_EQ(rows.size(), 2u);
    const auto other = std::ranges::find(rows, two->name(), &NodeRow::name);
    ASSERT_NE(other, rows.end());
    EXPECT_EQ(other->state, NodeState::kLive);
    EXPECT_EQ(other->boot, 22u);
    EXPECT_TRUE(two->table.renew(two->name()).value());
    EXPECT_FALSE(one->table.fence(other->name, other->beats).value()) << "it has renewed";
    fence(*one, *two);
    EXPECT_FALSE(two->table.renew(two->name()).value());
    EXPECT_FALSE(one->table.fence(two->name(), other->beats + 1).value()) << "it is already";
    two->begin();
    EXPECT_EQ(two->name().incarnation, 2u);
    EXPECT_TRUE(two->table.renew(two->name()).value());
}

TEST_F(FleetTablesTest, AProcessWhoseNumberAnotherHasTakenDoesNotBeginAgain) {
    Node next(options, 2, 23);
    EXPECT_FALSE(two->table.renew(two->name()).value());
    EXPECT_EQ(two->table.begin(2, 22).error().code, ErrorCode::kConflict);
    EXPECT_TRUE(next.table.renew(next.name()).value());
}

TEST_F(FleetTablesTest, AFencedNodeWritesNeitherAdmissionsNorEnds) {
    const LedgerEntry running = write(*one->ledger, admission("running")).value();
    fence(*two, *one);
    EXPECT_EQ(write(*one->ledger, admission("k")).error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(count("call"), 1);
    std::jthread waits([&] {
        EXPECT_EQ(write(*one->ledger, end_of(running, "done"))->status, LedgerStatus::kFinished)
            << "under its next incarnation, what it ran ends";
    });
    std::this_thread::sleep_for(100ms);  // the end is tried under the old one: nothing of it stays
    EXPECT_EQ(count("call_end"), 0);
    one->begin();
    waits.join();
    EXPECT_EQ(count("call_end"), 1);
    EXPECT_EQ((*write(*two->ledger, admission("running"))->outcome)->content, "done");
}

TEST_F(FleetTablesTest, WhatAnotherNodeRunsIsRunningUntilThatOneIsSilent) {
    ASSERT_TRUE(write(*one->ledger, admission("once")));
    const LedgerEntry again = write(*one->ledger, admission("again", true)).value();
    EXPECT_EQ(write(*two->ledger, admission("once"))->status, LedgerStatus::kRunning);
    EXPECT_EQ(write(*two->ledger, admission("again", true))->status, LedgerStatus::kRunning)
        << "idempotent or not";
    const core::LedgerQuestion question{
        .tenant = "acme", .principal = "ann", .key = "once", .forgotten_before = kNow - 24h};
    EXPECT_EQ(write(*two->ledger, question)->status, LedgerStatus::kRunning);
    two->silent = true;
    EXPECT_EQ(write(*two->ledger, admission("once"))->status, LedgerStatus::kOpen);
    const LedgerEntry taken = write(*two->ledger, admission("again", true)).value();
    EXPECT_EQ(taken.status, LedgerStatus::kAdmitted) << "it is taken over";
    EXPECT_EQ(write(*one->ledger, end_of(again, "late"))->status, LedgerStatus::kOpen)
        << "and its former owner hears that";
    EXPECT_EQ(write(*two->ledger, end_of(taken, "second"))->status, LedgerStatus::kFinished);
    EXPECT_EQ((*write(*one->ledger, admission("again", true))->outcome)->content, "second");
}

TEST_F(FleetTablesTest, LinksCountWhileTheirNodeLivesAndKeepTheirEpochs) {
    const Link kettle{.connection = 7, .source = "kettle", .tools = std::string("a\0b", 3)};
    const Link lamp{.connection = 8, .source = "lamp", .tools = "c"};
    const std::string before = two->links.version().value();
    const auto epochs = one->links.claim(one->name(), {kettle, lamp}, {}).value();
    ASSERT_EQ(epochs.size(), 2u);
    EXPECT_NE(epochs[0], epochs[1]);
    const std::string with_both = two->links.version().value();
    EXPECT_NE(with_both, before);
    EXPECT_EQ(one->links.read(1).value().size(), 0u) << "its own are not asked for";
    const auto seen = two->links.read(2).value();
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen[0].process, (bus::Process{.node = 1, .boot = 11}));
    fence(*two, *one);
    EXPECT_EQ(two->links.read(2).value().size(), 0u) << "of nobody who lives";
    EXPECT_NE(two->links.version().value(), with_both);
    EXPECT_EQ(one->links.claim(one->name(), {kettle}, {}).error().code, ErrorCode::kConflict);
    one->begin();
    Link kept = kettle;
    kept.epoch = epochs[0];
    EXPECT_EQ(one->links.claim(one->name(), {kept}, {}).value(), std::vector{epochs[0]});
    const auto after = two->links.read(2).value();
    ASSERT_EQ(after.size(), 1u) << "the other was dropped";
    EXPECT_EQ(after[0].epoch, epochs[0]);
    EXPECT_EQ(after[0].tools, kettle.tools);
    const auto elsewhere = two->links.claim(two->name(), {kettle}, {}).value();
    EXPECT_GT(elsewhere[0], epochs[0]) << "the later registration has the higher epoch";
    ASSERT_TRUE(one->table.leave(one->name()));
    EXPECT_EQ(two->links.read(2).value().size(), 0u);
}

TEST_F(FleetTablesTest, OnlyLinksThatChangedAreWritten) {
    const Link kettle{.connection = 7, .source = "kettle", .tools = "a"};
    Link lamp{.connection = 8, .source = "lamp", .tools = "b"};
    const auto epochs = one->links.claim(one->name(), {kettle, lamp}, {}).value();
    Connection database(options);
    const auto row_of = [&](int connection) {
        return (*database.query("SELECT ctid::text FROM link WHERE connection = $1", connection))[0]
            .text(0);
    };
    const std::string kettle_row = row_of(7), lamp_row = row_of(8);
    lamp.epoch = epochs[1];
    lamp.tools = "other";
    EXPECT_EQ(one->links.claim(one->name(), {lamp}, {7}).value(), std::vector{epochs[1]});
    EXPECT_EQ(row_of(7), kettle_row) << "its row is the one that it was";
    EXPECT_NE(row_of(8), lamp_row);
    ASSERT_EQ(two->links.read(2).value().size(), 2u);
    EXPECT_TRUE(one->links.claim(one->name(), {}, {8}));
    EXPECT_EQ(two->links.read(2).value().size(), 1u) << "what is in neither list is gone";
    EXPECT_EQ(one->links.claim(one->name(), {}, {7, 8}).error().code, ErrorCode::kNotFound)
        << "as after a crash of the database, which empties the table";
    EXPECT_EQ(two->links.read(2).value().size(), 1u);
}

TEST_F(FleetTablesTest, TheDatabaseOfAFleetHasOneProcessOfANameAndNobodyAlone) {
    const auto open = [&](const std::string& name, bool alone) {
        return StoresPostgres::open({.database = options,
                                     .fleet = "harbour",
                                     .node_name = name,
                                     .is_alone = alone,
                                     .is_node = !alone});
    };
    const auto north = open("north", false), south = open("south", false);
    ASSERT_TRUE(north);
    ASSERT_TRUE(south);
    EXPECT_EQ((*north)->node(), 1);
    EXPECT_EQ((*south)->node(), 2);
    const auto twin = open("south", false);
    ASSERT_FALSE(twin);
    EXPECT_NE(twin.error().message.find("a node of the name south runs"), std::string::npos);
    EXPECT_EQ(open("south", true).error().code, ErrorCode::kConflict);
}

TEST_F(FleetTablesTest, ADatabaseWithWhatNodesKeepInFilesIsRefusedToThem) {
    const auto open = [&](bool is_node) {
        return StoresPostgres::open({.database = options,
                                     .fleet = "harbour",
                                     .node_name = "north",
                                     .is_alone = !is_node,
                                     .is_node = is_node});
    };
    ASSERT_TRUE(open(true));
    Connection database(options);
    ASSERT_TRUE(database.run(
        "INSERT INTO console_passkey (id, credential, rp_id, label, sign_count, created_ms) VALUES "
        "('p', 'c', 'home', 'phone', 0, 0)"));
    const auto refused = open(true);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
    EXPECT_NE(refused.error().message.find("the table console_passkey"), std::string::npos);
    EXPECT_TRUE(open(false)) << "to a gateway that is alone it is not";
    ASSERT_TRUE(database.run("DELETE FROM console_passkey"));
    EXPECT_TRUE(open(true));
}

/// Of a tool whose host has that process.
core::LedgerAdmission admission_to(std::uint64_t process, std::string key,
                                   bool may_run_again = false) {
    core::LedgerAdmission wanted = admission(std::move(key), may_run_again);
    wanted.process = process;
    return wanted;
}

TEST_F(FleetTablesTest, WhoHasTheDeviceProcessOfASilentNodesCallAdoptsIt) {
    const LedgerEntry begun = write(*one->ledger, admission_to(7, "k")).value();
    EXPECT_FALSE(begun.adopted);
    EXPECT_EQ(write(*two->ledger, admission_to(7, "k"))->status, LedgerStatus::kRunning)
        << "its node may run it";
    fence(*two, *one);
    two->silent = true;
    EXPECT_EQ(write(*two->ledger, admission_to(8, "k"))->status, LedgerStatus::kOpen)
        << "another process knows nothing of it";
    EXPECT_EQ(write(*two->ledger, admission("k"))->status, LedgerStatus::kOpen) << "nor does none";
    const LedgerEntry adopted = write(*two->ledger, admission_to(7, "k")).value();
    EXPECT_EQ(adopted.status, LedgerStatus::kAdmitted);
    EXPECT_TRUE(adopted.adopted);
    EXPECT_EQ(adopted.ref, begun.ref);
    write(*two->ledger, core::LedgerRelease{adopted.ref}).value();
    EXPECT_EQ(count("call_end"), 0) << "what the other node has sent may have run";
    EXPECT_EQ(write(*two->ledger, end_of(adopted, "done"))->status, LedgerStatus::kFinished);
    one->begin();
    EXPECT_EQ(write(*one->ledger, end_of(begun, "done, too"))->status, LedgerStatus::kOpen);
    EXPECT_EQ((*write(*one->ledger, admission_to(7, "k"))->outcome)->content, "done");
}

TEST_F(FleetTablesTest, OfTwoWhoWouldAdoptACallOneDoes) {
    Connection database(options);
    ASSERT_EQ(node_number(database, "west").value(), 3);
    Node three(options, 3, 33);
    write(*one->ledger, admission_to(7, "k")).value();
    fence(*two, *one);
    two->silent = true;
    EXPECT_TRUE(write(*two->ledger, admission_to(7, "k"))->adopted);
    EXPECT_EQ(write(three.ledger.value(), admission_to(7, "k"))->status, LedgerStatus::kRunning);
}

TEST_F(FleetTablesTest, AnIdempotentCallIsAdoptedFirstAndMayBeReleased) {
    const LedgerEntry begun = write(*one->ledger, admission_to(7, "k", true)).value();
    fence(*two, *one);
    two->silent = true;
    const LedgerEntry adopted = write(*two->ledger, admission_to(7, "k", true)).value();
    EXPECT_EQ(adopted.ref, begun.ref);
    write(*two->ledger, core::LedgerRelease{adopted.ref}).value();
    const LedgerEntry again = write(*two->ledger, admission_to(8, "k", true)).value();
    EXPECT_EQ(again.status, LedgerStatus::kAdmitted);
    EXPECT_FALSE(again.adopted);
    EXPECT_NE(again.ref, begun.ref);
}

TEST_F(FleetTablesTest, AnIdempotentCallOfAnotherProcessIsTakenOverAndItsNewOneIsRecorded) {
    write(*one->ledger, admission_to(7, "k", true)).value();
    fence(*two, *one);
    two->silent = true;
    const LedgerEntry taken = write(*two->ledger, admission_to(8, "k", true)).value();
    EXPECT_FALSE(taken.adopted);
    const LedgerEntry again = write(*two->ledger, admission_to(8, "k", true)).value();
    EXPECT_TRUE(again.adopted) << "by another call of the same node";
    EXPECT_EQ(again.ref, taken.ref);
}

}  // namespace
}  // namespace crab::store::postgres
