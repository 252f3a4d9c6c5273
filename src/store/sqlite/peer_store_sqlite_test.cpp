#include "store/sqlite/peer_store_sqlite.hpp"

#include "base/process/test_folder.hpp"
#include "base/test_clock.hpp"
#include "trust/pairing/test_peer_store.hpp"

#include <gtest/gtest.h>

#include <random>

namespace crab::store::sqlite {
namespace {

using namespace std::chrono_literals;
using trust::ComponentType;
using trust::PairingCommit;
using trust::PeerCertificate;
using trust::PeerName;
using trust::PeerRecord;
using trust::PeerStatus;

PeerRecord record(const PeerName& name, const std::string& serial,
                  PeerStatus status = PeerStatus::kActive) {
    return {.name = name,
            .endpoint = "wss://a.example:443",
            .mtls_cert_fingerprint = "sha256:" + serial,
            .serial_number = serial,
            .status = status};
}
PeerCertificate certificate(const PeerName& name, const std::string& serial) {
    return {.serial_number = serial,
            .fingerprint = "sha256:" + serial,
            .name = name,
            .key_digest = crypto::sha256(serial)};
}

class PeerStoreSqliteTest : public testing::Test {
protected:
    std::unique_ptr<PeerStoreSqlite> open(DatabaseOptions options = {}) {
        return std::move(PeerStoreSqlite::open(folder / "trust.db", options).value());
    }

    TestFolder folder;
    FakeClock clock;
    const PeerName memory{ComponentType::kToolHost, "memory"};
};

TEST_F(PeerStoreSqliteTest, AFullDiskIsUnavailableAndLeavesTheOldRecord) {
    { open(); }
    const auto store = open({.max_pages = 20});
    ASSERT_TRUE(store->add_certificate(certificate(memory, "a1"),
                                       record(memory, "a1", PeerStatus::kPending)));
    PeerCertificate large = certificate(memory, "a2");
    large.certificate_pem.assign(200'000, 'x');
    EXPECT_EQ(
        store->add_certificate(large, record(memory, "a2", PeerStatus::kPending)).error().code,
        ErrorCode::kUnavailable);
    EXPECT_EQ(store->find_peer(memory).value(), record(memory, "a1", PeerStatus::kPending));
}

/// The same random changes to the store and to the one in memory.
struct BothStores {
    std::size_t pick(std::size_t most) {
        return std::uniform_int_distribution<std::size_t>(0, most - 1)(random);
    }
    template <class Result>
    void expect_same(const Result& ours, const Result& theirs) {
        ASSERT_EQ(ours.has_value(), theirs.has_value());
        if (!ours) ASSERT_EQ(ours.error().code, theirs.error().code);
    }
    PeerRecord some_record(const PeerName& name) {
        PeerRecord next = record(name, serials[pick(serials.size())], kStatuses[1 + pick(2)]);
        next.endpoint = pick(2) == 0 ? "wss://a.example:443" : "wss://b.example:443";
        return next;
    }
    void add_certificate(const PeerName& name) {
        serials.push_back(std::to_string(serials.size()));
        const PeerRecord pending = record(name, serials.back(), PeerStatus::kPending);
        const PeerCertificate made = certificate(name, serials.back());
        ASSERT_EQ(store.add_certificate(made, pending).has_value(),
                  model.add_certificate(made, pending).has_value());
    }
    void commit(const PeerName& name, const PeerRecord& next, SystemTime now) {
        PairingCommit commit{.record = next, .previous = model.find_peer(name).value(), .at = now};
        if (pick(4) == 0) commit.previous.reset();
        if (pick(2) == 0) commit.old_certificate = PairingCommit::OldCertificate::kRevoke;
        // A certificate is committed for its own name only; the machine sees to that.
        const auto leaf = model.find_certificate(next.mtls_cert_fingerprint).value();
        if (leaf && leaf->name != name) return;
        expect_same(store.commit(commit), model.commit(commit));
    }
    void change(const PeerName& name, SystemTime now) {
        const PeerRecord next = some_record(name);
        switch (pick(6)) {
            case 0:
            case 1: return add_certificate(name);
            case 2: return commit(name, next, now);
            case 3: {
                const PeerStatus status = kStatuses[pick(kStatuses.size())];
                return expect_same(store.set_status(name, status), model.set_status(name, status));
            }
            case 4:
                expect_same(store.set_tool_url(name, "https://c.example"),
                            model.set_tool_url(name, "https://c.example"));
                return expect_same(store.record_seen(name, now), model.record_seen(name, now));
            case 5:
                if (pick(10) != 0) return;
                return expect_same(store.revoke(name, "lost", now),
                                   model.revoke(name, "lost", now));
        }
    }

    static constexpr std::array kStatuses{PeerStatus::kPending, PeerStatus::kActive,
                                          PeerStatus::kInactive, PeerStatus::kRevoked};
    trust::PeerStore& store;
    std::mt19937 random;
    trust::PeerStoreMemory model{};
    std::vector<std::string> serials{"0"};
};

}  // namespace
}  // namespace crab::store::sqlite
