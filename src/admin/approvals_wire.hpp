#pragma once

#include "core/approvals/approvals.hpp"
#include "json/writer.hpp"

namespace crab::admin {

/// Writes an approval request as an object: the call, its arguments as JSON text, and once it has
/// ended `state`, `scope`, `decided_by` and `waited_ms`.
void append_approval(json::Writer& writer, const core::ApprovalQuestion& question,
                     const core::ApprovalEnd& end);
/// A decision that holds for calls to come.
void append_remembered(json::Writer& writer, const core::RememberedApproval& decision);

}  // namespace crab::admin
