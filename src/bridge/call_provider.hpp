#pragma once

#include "adapters/cetp/envelope.hpp"
#include "adapters/cetp/method_call.hpp"
#include "adapters/cetp/provider_record.hpp"
#include "base/clock.hpp"

namespace crab::bridge {

/// Calls a provider once, as any consumer may, on a loop of its own. Blocks.
cetp::Envelope call_provider(const cetp::ProviderRecord& provider, const cetp::MethodCall& call,
                             Milliseconds timeout);

}  // namespace crab::bridge
