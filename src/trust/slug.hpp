#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace crab::trust {

/// Longest slug, suffix included: a tool's name still fits behind `<slug>__` within 128 characters.
inline constexpr std::size_t kMaxSlugSize = 40;

/// `Kitchen tablet` becomes `kitchen-tablet`; what has no letter or digit of ASCII becomes
/// `fallback`. A slug is 1-40 of `[a-z0-9_-]`, begins and ends with a letter or digit, and holds no
/// `__`, which separates a device from its tool in qualified names.
std::string make_slug(std::string_view name, std::string_view fallback);
/// `base`, or `base-2`, `base-3`, …: the first that is not taken.
std::string unique_slug(std::string_view base,
                        const std::function<bool(const std::string&)>& is_taken);

}  // namespace crab::trust
