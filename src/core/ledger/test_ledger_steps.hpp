#pragma once

#include "core/ledger/ledger_store.hpp"
#include "crypto/digest.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace crab::core {

inline const SystemTime kFirstAdmissionAt{std::chrono::seconds(1'780'000'000)};

inline std::shared_ptr<const Outcome> ok(std::string content) {
    core::ToolResult result;
    result.content = std::move(content);
    return std::make_shared<const Outcome>(std::move(result));
}

/// What tests of every ledger store do: admissions and ends, one and many.
struct LedgerStoreSteps {
    std::unique_ptr<LedgerStore> store;
    SystemTime now = kFirstAdmissionAt;

    LedgerAdmission admission(std::string key, std::uint64_t content = 1) const {
        return {.tenant = "acme",
                .principal = "ann",
                .key = std::move(key),
                .content = crypto::sha256(std::to_string(content)),
                .at = now,
                .forgotten_before = now - std::chrono::hours(24),
                .may_run_again = false,
                .record = {}};
    }
    Result<LedgerEntry> write(LedgerChange change) {
        return store->write({std::move(change)}).front();
    }
    LedgerEntry admit(std::string key, std::uint64_t content = 1) {
        return write(admission(std::move(key), content)).value();
    }
    void admit_many(int count) {
        std::vector<LedgerChange> changes;
        for (int i = 0; i < count; ++i) changes.emplace_back(admission("key-" + std::to_string(i)));
        for (const auto& answer : store->write(changes))
            ASSERT_EQ(answer->status, LedgerStatus::kAdmitted);
    }
    void end(const LedgerEntry& entry, std::shared_ptr<const Outcome> outcome) {
        ASSERT_TRUE(write(LedgerEnd{entry.ref, std::move(outcome), std::chrono::milliseconds(7)}));
    }
};

}  // namespace crab::core
