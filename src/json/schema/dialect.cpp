#include "json/schema/dialect.hpp"

namespace crab::json {
namespace {

std::string_view without(std::string_view text, std::string_view prefix, std::string_view suffix) {
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
    if (text.ends_with(suffix)) text.remove_suffix(suffix.size());
    return text;
}

}  // namespace

std::optional<Dialect> find_dialect(std::string_view uri) {
    uri = uri.starts_with("https") ? without(uri, "https", "#") : without(uri, "http", "#");
    if (uri == "://json-schema.org/draft/2020-12/schema") return Dialect::k2020_12;
    if (uri == "://json-schema.org/draft/2019-09/schema") return Dialect::k2019_09;
    if (uri == "://json-schema.org/draft-07/schema") return Dialect::kDraft7;
    if (uri == "://json-schema.org/draft-06/schema") return Dialect::kDraft6;
    if (uri == "://json-schema.org/draft-04/schema") return Dialect::kDraft4;
    return std::nullopt;
}

bool Vocabularies::add(std::string_view uri, bool required) {
    const bool is_2019 = uri.starts_with("https://json-schema.org/draft/2019-09/vocab/");
    if (!is_2019 && !uri.starts_with("https://json-schema.org/draft/2020-12/vocab/")) return false;
    const std::string_view name = uri.substr(uri.rfind('/') + 1);
    if (name == "core" || name == "meta-data" || name == "content") return true;
    if (name == "applicator") {
        applicator = true;
        // the later dialect gave these keywords a vocabulary of their own
        if (is_2019) unevaluated = true;
    } else if (name == "unevaluated" && !is_2019) {
        unevaluated = true;
    } else if (name == "validation") {
        validation = true;
    } else if (name == "format" && is_2019) {
        // 2019-09 validation, section 7.2: `true` means assertion
        format_assertion = format_assertion || required;
    } else if (name == "format-assertion" && !is_2019) {
        format_assertion = true;  // known to us, so it holds even when it is optional
    } else if (name != "format-annotation" || is_2019) {
        return false;
    }
    return true;
}

}  // namespace crab::json
