#pragma once

#include "bridge/provider_transport.hpp"

#include <chrono>
#include <string_view>

struct sd_bus_message;

namespace crab::bridge {

/// Understands an answer of `Call`: `a{sv}`, with `data_fd` in place of large data. Whatever it
/// holds, this is an envelope. Source: docs/protocols/cetp.md, sections 2 and 7.
cetp::Envelope read_bus_envelope(sd_bus_message* message);

/// What a D-Bus error means: an envelope, or nothing when the provider has not answered and the
/// call may be repeated. `waited` is how long a call may take, for the words of a timeout.
Delivery bus_error_outcome(std::string_view error_name, std::chrono::nanoseconds waited);

}  // namespace crab::bridge
