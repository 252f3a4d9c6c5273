#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace crab::cetp {

constexpr std::size_t kMaxRegisteredName = 64;

/// The label of a provider id or of a suggestion: last dot segment, `[^A-Za-z0-9]` to `_`, lower
/// case; `provider` when no letter or digit is left. Source: docs/protocols/cetp.md, rule 32.
std::string label_of(std::string_view id);

/// `label__tool` with each character beyond `[A-Za-z0-9_-]` as one `_`; may be too long (rules 33
/// and 35).
std::string plain_name(std::string_view label, std::string_view tool);
/// The replacement for a name that is too long or taken: the first 55 characters, `_`, and 8 hex
/// digits of SHA-256 over provider id, newline, bare name (rule 35).
std::string hashed_name(std::string_view plain, std::string_view provider_id,
                        std::string_view tool);

}  // namespace crab::cetp
