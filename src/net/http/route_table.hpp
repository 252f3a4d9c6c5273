#pragma once

#include "base/hash.hpp"
#include "net/http/route.hpp"
#include "net/http/route_match.hpp"

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace crab::net {

/// The routes of one listener: the only place where a path is compared with anything. Paths match
/// byte by byte, and are neither normalized nor redirected; a literal path goes before those with
/// names, which are tried in the order of add(). Filled before the listener opens, then only read:
/// thread-safe. Looking up a literal path allocates nothing.
class RouteTable {
public:
    /// Longest text for a name, decoded.
    static constexpr std::size_t kMaxArgumentBytes = 1024;

    /// `prefix` comes before every path; `/` and more, or empty.
    explicit RouteTable(std::string prefix = {}) : prefix_(std::move(prefix)) {}
    RouteTable(const RouteTable&) = delete;
    RouteTable& operator=(const RouteTable&) = delete;

    /// Returns its index. Throws std::logic_error for an invalid path, and for a method that the
    /// path already has.
    std::size_t add(Route route);
    /// `path` as the request has it: encoded, with the prefix. A segment that is `.` or `..`, does
    /// not decode, or is empty or too long stands for no name.
    RouteMatch find(std::string_view method, std::string_view path) const;

    const std::deque<Route>& routes() const { return routes_; }
    const std::string& prefix() const { return prefix_; }

private:
    struct Choice {
        std::string_view method;
        std::size_t index = 0;
        bool head = false;
    };
    using Choices = std::vector<Choice>;
    struct Pattern {
        std::string_view path;
        std::vector<std::string_view> segments;  ///< empty: a name
        std::vector<std::string_view> names;
        bool rest = false;  ///< ends in `{name...}`
        Choices choices;
    };
    static Pattern parse(std::string_view path);
    static bool matches(const Pattern& pattern, std::string_view path, PathArguments& arguments);
    bool choose(const Choices& choices, std::string_view method, RouteMatch& match) const;

    const std::string prefix_;
    std::deque<Route> routes_;
    std::unordered_map<std::string, Choices, TextHash, std::equal_to<>> literal_;
    std::deque<Pattern> patterns_;
};

}  // namespace crab::net
