#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace crab::json {

/// One label of an internationalized host name, by IDNA 2008 (RFC 5890 to 5893): libidn2 has its
/// tables, its contextual rules and Punycode.

/// The A-label (`xn--…`) of a U-label in UTF-8, which is brought to NFC first; nothing where it is
/// no U-label.
std::optional<std::string> to_a_label(std::string_view u_label);
/// The U-label that `xn--…` stands for; nothing when it stands for none or is not the one way to
/// write it.
std::optional<std::string> to_u_label(std::string_view a_label);
/// Whether the labels of one name, UTF-8, may stand side by side (RFC 5893, section 2): in a name
/// with a right-to-left character every label has to keep the Bidi rule. libidn2 sees single
/// labels, of which it does not check rule 4.
bool keep_bidi_rule(std::span<const std::string> labels);

}  // namespace crab::json
