#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace crab::json {

/// The JSON Schema dialects that crab speaks, oldest first, so that `dialect >= Dialect::k2019_09`
/// reads as it means.
enum class Dialect : std::uint8_t { kDraft4, kDraft6, kDraft7, k2019_09, k2020_12 };

/// The dialect whose metaschema has this URI (a fragment `#` and http or https do not matter);
/// nothing for any other URI.
std::optional<Dialect> find_dialect(std::string_view metaschema_uri);

/// Which groups of keywords have a meaning. The drafts before 2019-09 have them all.
struct Vocabularies {
    bool applicator = true;
    bool unevaluated = true;
    bool validation = true;
    bool format_assertion = false;  ///< `format` is checked, not only noted

    static Vocabularies none() { return {false, false, false, false}; }
    /// Adds the vocabulary with this URI. False when the URI is unknown. A vocabulary of pure
    /// annotations (core, meta-data, content) is known and changes nothing.
    bool add(std::string_view uri, bool required);
};

}  // namespace crab::json
