#pragma once

#include <cstddef>

/// How long a text may be that names something, whoever sends it: what is kept, compared and
/// repeated for each request has a length of its own, far below that of a message.
/// Source: docs/protocols/mcp.md, section 3.5.
namespace crab::mcp {

/// A URI, a template, a name, a value to be completed; entries of catalogs with longer ones are
/// left out.
inline constexpr std::size_t kMostNameBytes = std::size_t{8} << 10;
/// A cursor: sealed, it has one of these in it.
inline constexpr std::size_t kMostCursorBytes = std::size_t{16} << 10;

}  // namespace crab::mcp
