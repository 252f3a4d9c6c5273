#pragma once

#include "core/call/call.hpp"
#include "core/call/content_digest.hpp"
#include "core/call/tool.hpp"

#include <cstdint>

namespace crab::core {

/// What a repeat must agree in, for calls that memory alone knows: tool, parsed arguments (the
/// order of members does not count), agent and memory scope. Quick, for every such call pays it; it
/// tells a caller's mistakes from repeats of its own calls, which have no effects, and differs in
/// every process, so that nobody can prepare two contents. Whatever has effects, is stored or is
/// approved is compared by its ContentDigest.
std::uint64_t content_of(const Call& call, const Tool& tool, simdjson::dom::element args);
/// For Ledger::admit, of a call whose digest is needed anyway.
std::uint64_t content_of(const ContentDigest& digest);

}  // namespace crab::core
