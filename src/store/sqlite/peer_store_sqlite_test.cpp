#include "store/sqlite/peer_store_sqlite.hpp"

#include "base/process/test_folder.hpp"

#include <gtest/gtest.h>

namespace crab::store::sqlite {
namespace {

using trust::ComponentType;
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

}  // namespace
}  // namespace crab::store::sqlite
