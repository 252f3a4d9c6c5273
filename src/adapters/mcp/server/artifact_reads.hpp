#pragma once

#include "base/result.hpp"
#include "base/task/fair_pool.hpp"
#include "base/task/task.hpp"
#include "core/call/artifact_store.hpp"
#include "core/call/principal.hpp"

#include <string>

namespace crab::mcp {

/// The large results that are kept here, for `resources/read` of `crab://artifact/<id>`.
/// Source: docs/protocols/mcp.md, section 4.3.
struct ArtifactReads {
    core::ArtifactStore* store = nullptr;  ///< null: none are kept
    FairPool* pool = nullptr;  ///< principals take turns

    /// The result of `resources/read` under `uri`. Errors: kNotFound, also for one that is not this
    /// principal's to read; kOversize; those of the store.
    Task<Result<std::string>> read(std::string id, std::string uri,
                                   core::PrincipalRef principal) const;
};

}  // namespace crab::mcp
