#include "net/http/route_table.hpp"

#include "net/codec/url.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

namespace crab::net {
namespace {

[[noreturn]] void refuse(const Route& route, std::string_view why) {
    throw std::logic_error(fmt::format("route {} {}: {}", name_of(route.method), route.path, why));
}

/// The first segment of `rest`, which it leaves with what follows the next slash; nothing when no
/// segment is left.
std::optional<std::string_view> take_segment(std::optional<std::string_view>& rest) {
    if (!rest) return std::nullopt;
    const std::size_t slash = rest->find('/');
    const std::string_view segment = rest->substr(0, slash);
    rest = slash == std::string_view::npos ? std::nullopt : std::optional(rest->substr(slash + 1));
    return segment;
}

/// Nothing when that text stands for no name.
std::optional<std::string> argument_of(std::string_view segment) {
    if (segment.size() > 3 * RouteTable::kMaxArgumentBytes) return std::nullopt;
    auto text = percent_decode(segment);
    if (!text || text->empty() || text->size() > RouteTable::kMaxArgumentBytes || *text == "." ||
        *text == "..")
        return std::nullopt;
    return text;
}

}  // namespace

std::string_view name_of(Method method) {
    switch (method) {
        case Method::kGet: return "GET";
        case Method::kPost: return "POST";
        case Method::kPut: return "PUT";
        case Method::kPatch: return "PATCH";
        case Method::kDelete: return "DELETE";
    }
    return "GET";
}

const std::string& PathArguments::operator[](std::string_view name) const {
    if (names_ != nullptr) {
        const auto place = std::ranges::find(*names_, name);
        if (place != names_->end())
            return values_[static_cast<std::size_t>(place - names_->begin())];
    }
    throw std::logic_error(fmt::format("the route's path has no {{{}}}", name));
}

/// Throws std::invalid_argument for an invalid path.
RouteTable::Pattern RouteTable::parse(std::string_view path) {
    Pattern pattern{.path = path};
    if (!path.starts_with('/')) throw std::invalid_argument("a path begins with /");
    std::optional<std::string_view> left = path.substr(1);
    while (const auto segment = take_segment(left)) {
        const bool is_name = segment->starts_with('{') && segment->ends_with('}');
        if (!is_name) {
            if (segment->find_first_of("{}%?#") != std::string_view::npos)
                throw std::invalid_argument("a segment is a name in braces or plain text");
            if (segment->empty() && path != "/") throw std::invalid_argument("an empty segment");
            pattern.segments.push_back(*segment);
            continue;
        }
        std::string_view name = segment->substr(1, segment->size() - 2);
        if (name.ends_with("...")) {
            if (left) throw std::invalid_argument("the rest of a path stands at its end");
            name.remove_suffix(3);
            pattern.rest = true;
        }
        if (name.empty() || name.find_first_of("{}") != std::string_view::npos)
            throw std::invalid_argument("a name in braces has letters");
        if (std::ranges::find(pattern.names, name) != pattern.names.end())
            throw std::invalid_argument("a name stands there twice");
        pattern.names.push_back(name);
        if (!pattern.rest) pattern.segments.emplace_back();
    }
    return pattern;
}

std::size_t RouteTable::add(Route route) {
    Pattern pattern;
    try {
        pattern = parse(route.path);
    } catch (const std::invalid_argument& error) {
        refuse(route, error.what());
    }
    if (route.head && route.method != Method::kGet) refuse(route, "HEAD goes with GET");
    Choices* choices = nullptr;
    if (pattern.names.empty()) {
        choices = &literal_[std::string(route.path)];
    } else {
        const auto known = std::ranges::find(patterns_, route.path, &Pattern::path);
        choices = known != patterns_.end() ? &known->choices
                                           : &patterns_.emplace_back(std::move(pattern)).choices;
    }
    const std::string_view name = name_of(route.method);
    if (std::ranges::find(*choices, name, &Choice::method) != choices->end())
        refuse(route, "is there already");
    choices->push_back({.method = name, .index = routes_.size(), .head = route.head});
    routes_.push_back(std::move(route));
    return routes_.size() - 1;
}

/// Chooses the route of that method. False: there is none, and the match says what is allowed.
bool RouteTable::choose(const Choices& choices, std::string_view method, RouteMatch& match) const {
    for (const Choice& each : choices) {
        if (each.method != method && !(each.head && method == "HEAD")) continue;
        match.kind = RouteMatch::Kind::kFound;
        match.index = each.index;
        match.route = &routes_[each.index];
        match.allow.clear();
        return true;
    }
    if (match.kind == RouteMatch::Kind::kUnknownPath) {
        match.kind = RouteMatch::Kind::kOtherMethod;
        match.index = choices.front().index;
        match.route = &routes_[match.index];
    }
    const auto allow = [&match](std::string_view name) {
        if (match.allow.contains(name)) return;  // by another pattern; none is a part of another
        if (!match.allow.empty()) match.allow += ", ";
        match.allow += name;
    };
    for (const Choice& each : choices) {
        allow(each.method);
        if (each.head) allow("HEAD");
    }
    return false;
}

/// Fills `arguments` when it does.
bool RouteTable::matches(const Pattern& pattern, std::string_view path, PathArguments& arguments) {
    if (!path.starts_with('/')) return false;
    std::vector<std::string> values;
    std::optional<std::string_view> left = path.substr(1);
    for (const std::string_view wanted : pattern.segments) {
        const auto segment = take_segment(left);
        if (!segment) return false;
        if (!wanted.empty()) {
            if (*segment != wanted) return false;
            continue;
        }
        auto value = argument_of(*segment);
        if (!value) return false;
        values.push_back(std::move(*value));
    }
    if (left.has_value() != pattern.rest) return false;
    if (pattern.rest) values.emplace_back(*left);
    arguments.names_ = &pattern.names;
    arguments.values_ = std::move(values);
    return true;
}

RouteMatch RouteTable::find(std::string_view method, std::string_view path) const {
    RouteMatch match;
    if (!path.starts_with(prefix_)) return match;
    path.remove_prefix(prefix_.size());
    const auto literal = literal_.find(path);
    if (literal != literal_.end() && choose(literal->second, method, match)) return match;
    for (const Pattern& pattern : patterns_) {
        if (pattern.rest && literal != literal_.end()) continue;  // no file is called like a route
        if (!matches(pattern, path, match.arguments)) continue;
        if (choose(pattern.choices, method, match)) return match;
    }
    return match;
}

}  // namespace crab::net
