#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace crab::json {

/// Whether the code points are a U-label: no upper-case or compatibility check, which would need
/// Unicode's tables, but the exceptions and contextual rules of RFC 5892 and the lengths of RFC
/// 5890.
bool is_u_label(const std::u32string& label);
/// The U-label that `xn--…` stands for; nothing when it stands for none or is not the one way to
/// write it.
std::optional<std::u32string> decode_a_label(std::string_view label);
/// Whether the labels of one name may stand side by side: the Bidi rule (RFC 5893, section 2), with
/// the directions of the Hebrew, Arabic, Syriac, Thaana and N'Ko blocks.
bool keep_bidi_rule(std::span<const std::u32string> labels);

}  // namespace crab::json
