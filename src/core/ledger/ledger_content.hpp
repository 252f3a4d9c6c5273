#pragma once

#include "core/call/call.hpp"
#include "core/call/content_digest.hpp"
#include "core/call/tool.hpp"

#include <cstdint>

namespace crab::core {

/// Hash of what a repeat must match, for calls in memory only: tool, parsed arguments (regardless
/// of member order), agent and memory scope. Fast and seeded per process; not collision-resistant.
/// Calls that have side effects, are stored or are approved use ContentDigest instead.
std::uint64_t content_of(const Call& call, const Tool& tool, json::Element args);
/// For Ledger::admit, of a call whose digest is needed anyway.
std::uint64_t content_of(const ContentDigest& digest);

}  // namespace crab::core
