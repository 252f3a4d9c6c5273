#pragma once

#include "core/call.hpp"
#include "core/tool.hpp"

#include <cstdint>

namespace crab::core {

/// A digest of what a repeat must agree in: tool, parsed arguments (the order of members does not count), agent and memory
/// scope. The same in every process, for it is stored with durable calls. It tells a caller's mistakes from repeats; against
/// forgery it need not stand, since keys belong to one principal.
std::uint64_t content_of(const Call& call, const Tool& tool, simdjson::dom::element args);

/// The same of one value alone, for other things that may be repeated.
std::uint64_t digest_of(simdjson::dom::element value);

}  // namespace crab::core
