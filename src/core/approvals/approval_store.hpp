#pragma once

#include "base/result.hpp"
#include "core/approvals/approval.hpp"

#include <string_view>
#include <vector>

namespace crab::core {

/// Store of decisions with scope kAlways. Every function may block and is atomic and durable.
/// `Approvals` calls one at a time. Errors: kUnavailable (disk full, busy, I/O), kInternal.
class ApprovalStore {
public:
    virtual ~ApprovalStore() = default;

    virtual Result<std::vector<RememberedApproval>> load() = 0;
    /// Stores `decision` and removes those named in `instead`.
    virtual Result<void> keep(const RememberedApproval& decision,
                              const std::vector<std::string>& instead) = 0;
    virtual Result<void> forget(std::string_view id) = 0;
};

}  // namespace crab::core
