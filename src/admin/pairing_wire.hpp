#pragma once

#include "base/clock.hpp"
#include "core/call/principal.hpp"
#include "json/element.hpp"
#include "json/writer.hpp"
#include "trust/pairing_codes.hpp"

namespace crab::admin {

/// What the body of `POST /v1/admin/pair` offers; `lifetime` is that of a token whose offer names
/// none. Errors: kInvalidArgs with a pointer to the member.
Result<trust::PairingOffer> read_pairing_offer(json::Element request, Milliseconds lifetime);

/// The member `roles`: words in the order in which they are explained.
void append_roles(json::Writer& writer, const core::Roles& roles);

}  // namespace crab::admin
