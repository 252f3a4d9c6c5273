#pragma once

#include "net/codec/url.hpp"

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace crab::admin {

/// Of a page: how many rows it has where the query names no number, and how many at most.
inline constexpr std::size_t kPageRows = 200, kMostRows = 1000;

/// A whole number of the query; `missing` when there is none, nothing when it is no number.
inline std::optional<std::size_t> number_in(std::string_view query, std::string_view name,
                                            std::size_t missing) {
    const auto text = net::find_query(query, name);
    if (!text) return missing;
    std::size_t number = 0;
    const char* const end = text->data() + text->size();
    const auto [stopped, problem] = std::from_chars(text->data(), end, number);
    if (problem != std::errc() || stopped != end) return std::nullopt;
    return number;
}

}  // namespace crab::admin
