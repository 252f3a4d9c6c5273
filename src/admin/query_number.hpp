#pragma once

#include "base/whole_number.hpp"
#include "net/codec/url.hpp"

#include <cstddef>
#include <optional>
#include <string_view>

namespace crab::admin {

/// Of a page: how many rows it has where the query names no number, and how many at most.
inline constexpr std::size_t kPageRows = 200, kMostRows = 1000;

/// A whole number of the query; `missing` when there is none, nothing when it is no number.
inline std::optional<std::size_t> number_in(std::string_view query, std::string_view name,
                                            std::size_t missing) {
    const auto text = net::find_query(query, name);
    return text ? parse_whole_number<std::size_t>(*text) : missing;
}

}  // namespace crab::admin
