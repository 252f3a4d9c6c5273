#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crab::net {

struct Route;

/// The values of a route's path parameters, percent-decoded once; those of `{name...}` raw.
class PathArguments {
public:
    /// Throws std::logic_error for a name that the route's path does not have.
    const std::string& operator[](std::string_view name) const;

private:
    friend class RouteTable;
    const std::vector<std::string_view>* names_ = nullptr;  ///< of the table
    std::vector<std::string> values_;
};

/// The lookup result for a method and a path. Valid as long as the table.
struct RouteMatch {
    enum class Kind : std::uint8_t { kUnknownPath, kOtherMethod, kFound };
    Kind kind = Kind::kUnknownPath;
    const Route* route = nullptr;  ///< kOtherMethod: the first of this path
    std::size_t index = 0;         ///< of `route`, in the order of add()
    PathArguments arguments;
    std::string allow;             ///< kOtherMethod: for the field Allow, such as `GET, HEAD`

    bool found() const { return kind == Kind::kFound; }
};

}  // namespace crab::net
