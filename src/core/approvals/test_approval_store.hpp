#pragma once

#include "core/approvals/approval_store.hpp"

#include <algorithm>

namespace crab::core {

/// For tests: keeps decisions in memory; every change fails while `failing`.
class ApprovalStoreMemory final : public ApprovalStore {
public:
    Result<std::vector<RememberedApproval>> load() override { return kept; }
    Result<void> keep(const RememberedApproval& decision,
                      const std::vector<std::string>& instead) override {
        if (failing) return fail(ErrorCode::kUnavailable, "the disk is full");
        std::erase_if(kept, [&](const auto& each) {
            return std::ranges::find(instead, each.id) != instead.end();
        });
        kept.push_back(decision);
        return {};
    }
    Result<void> forget(std::string_view id) override {
        if (failing) return fail(ErrorCode::kUnavailable, "the disk is full");
        std::erase_if(kept, [&](const auto& each) { return each.id == id; });
        return {};
    }

    std::vector<RememberedApproval> kept;
    bool failing = false;
};

}  // namespace crab::core
