#pragma once

#include "bridge/provider_transport.hpp"

#include <chrono>
#include <string_view>

struct sd_bus_message;

namespace crab::bridge {

/// Converts an answer of `Call` to an envelope, whatever it holds: `a{sv}`, with `data_fd` for
/// large data. Source: docs/protocols/cetp.md, sections 2 and 7.
cetp::Envelope read_bus_envelope(sd_bus_message* message);

/// Maps a D-Bus error to an envelope, or to nothing when the provider has not answered and the call
/// may be retried. `waited` is the call's time limit, for the text of a timeout.
Delivery bus_error_outcome(std::string_view error_name, std::chrono::nanoseconds waited);

}  // namespace crab::bridge
