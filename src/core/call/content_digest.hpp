#pragma once

#include "core/call/call.hpp"
#include "core/call/tool.hpp"
#include "crypto/digest.hpp"
#include "json/element.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace crab::core {

/// SHA-256 of the content that identifies a call or an event. Decides what an approval covers and
/// what is replayed after a restart, so it must be collision-resistant.
using ContentDigest = crypto::Sha256Digest;

/// As it is stored: `sha256:` and 64 hexadecimal digits. Text with another prefix is a different
/// kind of digest and equals none.
std::string to_stored(const ContentDigest& digest);
/// Nothing for a digest of another kind.
std::optional<ContentDigest> from_stored(std::string_view text);

/// Appends a canonical form of `value`: equal values, and only those, have equal texts. Members are
/// sorted by name, strings unescaped, numbers compared by exact decimal value (`3`, `3.0` and
/// `30e-1` are equal). `text` is the source of `value`, for numbers that do not fit a double;
/// empty: numbers count as the parser rounded them.
void append_canonical(std::string& out, json::Element value, std::string_view text = {});

/// The digest of a call: tool and source, place, agent and memory scope, type and bytes of the
/// body, arguments. `args` are those of `call`.
ContentDigest digest_of(const Call& call, const Tool& tool, std::string_view place,
                        json::Element args);

}  // namespace crab::core
