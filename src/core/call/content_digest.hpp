#pragma once

#include "core/call/call.hpp"
#include "core/call/tool.hpp"
#include "crypto/digest.hpp"

#include <optional>
#include <string>
#include <string_view>

#include <simdjson.h>

namespace crab::core {

/// SHA-256 of what two calls, or two events, must agree in to be the same. Decides what an approval
/// lets run and what is replayed after a restart, so nobody may be able to find two contents of one
/// digest.
using ContentDigest = crypto::Sha256Digest;

/// As it is stored: `sha256:` and 64 hexadecimal digits. A text that begins otherwise is of another
/// kind and equals none.
std::string to_stored(const ContentDigest& digest);
/// Nothing for a text of another kind, which can be compared with none.
std::optional<ContentDigest> from_stored(std::string_view text);

/// `value` so that equal values have equal texts and others have not: members in the order of their
/// names, strings unescaped, numbers by their exact decimal value (`3`, `3.0` and `30e-1` are one).
/// `text`, what `value` was parsed from, says numbers that no double holds; empty: they are taken
/// as the parser rounded them.
void append_canonical(std::string& out, simdjson::dom::element value, std::string_view text = {});

/// Of a call: tool and source, place, agent and memory scope, type and bytes of the body,
/// arguments. `args` are those of `call`.
ContentDigest digest_of(const Call& call, const Tool& tool, std::string_view place,
                        simdjson::dom::element args);

}  // namespace crab::core
