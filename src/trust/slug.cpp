#include "trust/slug.hpp"

#include <algorithm>

namespace crab::trust {
namespace {

constexpr std::size_t kRoomForSuffix = 8;

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

/// Cuts to `size` and drops the separators that this may have laid bare.
void shorten(std::string& slug, std::size_t size) {
    if (slug.size() > size) slug.resize(size);
    while (!slug.empty() && !is_letter_or_digit(slug.back())) slug.pop_back();
}

}  // namespace

std::string make_slug(std::string_view name, std::string_view fallback) {
    std::string slug;
    for (char c : name) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if (is_letter_or_digit(c)) {
            slug += c;
        } else if (!slug.empty() && is_letter_or_digit(slug.back())) {
            slug += c == '_' ? '_' : '-';  // one separator for any run of other characters
        }
    }
    shorten(slug, kMaxSlugSize - kRoomForSuffix);
    return slug.empty() ? std::string(fallback) : slug;
}

std::string unique_slug(std::string_view base,
                        const std::function<bool(const std::string&)>& is_taken) {
    std::string slug(base);
    shorten(slug, kMaxSlugSize - kRoomForSuffix);
    const std::string stem = slug;
    for (unsigned number = 2; is_taken(slug); ++number) slug = stem + '-' + std::to_string(number);
    return slug;
}

}  // namespace crab::trust
