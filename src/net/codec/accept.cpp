#include "net/codec/accept.hpp"

#include "base/ascii.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace crab::net {
namespace {

/// What is before `end`, which is taken off `text` too.
std::string_view take_until(std::string_view& text, char end) {
    const std::string_view taken = text.substr(0, text.find(end));
    text.remove_prefix(std::min(taken.size() + 1, text.size()));
    return trim(taken);
}

/// How well a range fits; nothing: it does not.
std::optional<int> fit_of(std::string_view range, std::string_view type) {
    if (range == "*/*") return 0;
    if (equals_lower(range, type)) return 2;
    const std::size_t slash = type.find('/');
    if (range.ends_with("/*") &&
        equals_lower(range.substr(0, range.size() - 2), type.substr(0, slash)))
        return 1;
    return std::nullopt;
}

double weight_of(std::string_view text) {
    double weight = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
    const bool good = error == std::errc() && end == text.data() + text.size();
    return good && weight >= 0 && weight <= 1 ? weight : 0;
}

}  // namespace

AcceptWeight accept_weight(std::string_view accept, std::string_view type,
                           std::string_view version) {
    if (trim(accept).empty()) return {.weight = 1, .named = 0};
    AcceptWeight best;
    int best_fit = -1;
    while (!accept.empty()) {
        std::string_view range = take_until(accept, ',');
        const auto fit = fit_of(take_until(range, ';'), type);
        double weight = 1;
        bool other_version = false;
        while (!range.empty()) {
            std::string_view parameter = take_until(range, ';');
            const std::string_view name = take_until(parameter, '=');
            const std::string_view value = trim(parameter, "\" ");
            if (equals_lower(name, "q")) weight = weight_of(value);
            if (equals_lower(name, "version")) other_version = value != version;
        }
        if (!fit || (*fit == 2 && other_version)) continue;
        // The most specific range counts, of several of them the heaviest.
        if (*fit < best_fit || (*fit == best_fit && weight < best.weight)) continue;
        best_fit = *fit;
        best = {.weight = weight, .named = weight > 0 ? *fit : 0};
    }
    return best;
}

}  // namespace crab::net
