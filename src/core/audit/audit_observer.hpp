#pragma once

#include "core/audit/audit_store.hpp"

namespace crab::core {

/// Sees the batches of an AuditLog once each, whether the store took them or not. Records that were
/// stored one by one, before an action, are not among them.
class AuditObserver {
public:
    virtual ~AuditObserver() = default;
    /// On a thread of the log's pool, perhaps on two at a time; about five times a second, and for
    /// every full buffer.
    virtual void on_batch(const AuditBatch& batch) = 0;
};

}  // namespace crab::core
