#pragma once

#include "core/audit/audit_store.hpp"

namespace crab::core {

/// Accepts and discards records: for tool hosts without a state folder, whose callers keep the
/// records, and for tests.
class AuditStoreNone final : public AuditStore {
public:
    Result<void> append(const AuditBatch&) override { return {}; }
    Result<std::vector<std::string>> latest(std::size_t) override {
        return std::vector<std::string>();
    }
    Result<std::optional<std::string>> find_call(std::string_view, SystemTime) override {
        return std::nullopt;
    }
    Result<void> read(const AuditRange&,
                      const std::function<bool(const StoredAuditBatch&)>&) override {
        return {};
    }
    Result<AuditCheck> verify_chain(const std::stop_token&) override { return AuditCheck{}; }
    Result<std::uint64_t> prune(SystemTime) override { return 0; }
};

}  // namespace crab::core
