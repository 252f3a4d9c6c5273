#pragma once

#include "core/ledger/ledger_store.hpp"
#include "crypto/digest.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace crab::store::postgres {

// What tests admit to a ledger, and how it ends.

inline const SystemTime kNow{std::chrono::seconds(1'780'000'000)};

inline core::LedgerAdmission admission(std::string key, bool may_run_again = false) {
    return {.tenant = "acme",
            .principal = "ann",
            .key = std::move(key),
            .content = crypto::sha256("1"),
            .at = kNow,
            .forgotten_before = kNow - std::chrono::hours(24),
            .may_run_again = may_run_again,
            .record = {}};
}

inline core::LedgerEnd end_of(const core::LedgerEntry& entry, std::string content) {
    core::ToolResult result;
    result.content = std::move(content);
    return {entry.ref, std::make_shared<const core::Outcome>(std::move(result)), Milliseconds(7)};
}

}  // namespace crab::store::postgres
