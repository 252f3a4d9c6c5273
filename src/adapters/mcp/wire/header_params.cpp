#include "adapters/mcp/wire/header_params.hpp"

#include "adapters/mcp/wire/header_value.hpp"
#include "json/pointer.hpp"
#include "net/codec/http_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <unordered_set>

namespace crab::mcp {
namespace {

constexpr std::string_view kKeyword = "x-mcp-header";

// Keywords whose value holds schemas, by the form of the value. Values of other keywords (`enum`,
// `default`, unknown ones) are data, in which the name means nothing.
constexpr std::array<std::string_view, 11> kSchemas{"items",
                                                    "additionalItems",
                                                    "additionalProperties",
                                                    "unevaluatedItems",
                                                    "unevaluatedProperties",
                                                    "contains",
                                                    "propertyNames",
                                                    "not",
                                                    "if",
                                                    "then",
                                                    "else"};
constexpr std::array<std::string_view, 5> kLists{"allOf", "anyOf", "oneOf", "prefixItems", "items"};
constexpr std::array<std::string_view, 5> kMaps{"patternProperties", "$defs", "definitions",
                                                "dependentSchemas", "dependencies"};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
}

std::optional<HeaderParam::Type> type_of(json::Element schema) {
    const auto name = json::get_string(schema, "type");
    if (name == "string") return HeaderParam::Type::kString;
    if (name == "integer") return HeaderParam::Type::kInteger;
    if (name == "boolean") return HeaderParam::Type::kBoolean;
    return std::nullopt;
}

class Declarations {
public:
    /// `reachable`: nothing but `properties` led here.
    std::expected<void, std::string> walk(json::Element schema, bool reachable) {
        json::Object object;
        if (schema.get(object) != simdjson::SUCCESS) return {};
        if (const auto name = json::get(schema, kKeyword)) {
            if (auto read = declare(schema, *name, reachable); !read) return read;
        }
        for (const auto field : object) {
            auto read = walk_keyword(field.key, field.value, reachable);
            if (!read) return read;
        }
        return {};
    }

    std::vector<HeaderParam> found;

private:
    std::expected<void, std::string> walk_keyword(std::string_view keyword, json::Element value,
                                                  bool reachable) {
        json::Object map;
        json::Array list;
        const bool properties = keyword == "properties";
        if ((properties || is_one_of(keyword, kMaps)) && value.get(map) == simdjson::SUCCESS) {
            for (const auto field : map) {
                path_.emplace_back(field.key);
                auto read = walk(field.value, reachable && properties);
                path_.pop_back();
                if (!read) return read;
            }
        } else if (is_one_of(keyword, kLists) && value.get(list) == simdjson::SUCCESS) {
            for (const json::Element item : list) {
                if (auto read = walk(item, false); !read) return read;
            }
        } else if (is_one_of(keyword, kSchemas)) {
            return walk(value, false);
        }
        return {};
    }

    std::expected<void, std::string> declare(json::Element schema, json::Element said,
                                             bool reachable) {
        std::string_view name;
        if (said.get(name) != simdjson::SUCCESS || name.empty() ||
            !net::all_of_class(name, net::kTokenChar))
            return wrong("is no HTTP token");
        if (!reachable) return wrong("stands where not only `properties` lead");
        const auto type = type_of(schema);
        if (!type) return wrong("is for `type` string, integer or boolean");
        if (!names_.insert(lower_case(name)).second) return wrong("has a name that is there twice");
        found.push_back({.name = std::string(name), .path = path_, .type = *type});
        return {};
    }

    std::unexpected<std::string> wrong(std::string_view why) const {
        std::string pointer;
        for (const std::string& step : path_) pointer += "/" + json::escape_pointer(step);
        return std::unexpected(fmt::format("`x-mcp-header` of property '{}' {}", pointer, why));
    }

    std::vector<std::string> path_;
    std::unordered_set<std::string> names_;
};

/// The argument that a declaration is about; nothing when it is absent or null.
std::optional<json::Element> value_of(const HeaderParam& param,
                                      std::optional<json::Element> arguments) {
    for (const std::string& step : param.path) {
        if (arguments) arguments = json::get(*arguments, step);
    }
    if (arguments && arguments->is_null()) return std::nullopt;
    return arguments;
}

}  // namespace

std::expected<std::vector<HeaderParam>, std::string> read_header_params(
    json::Element input_schema) {
    Declarations declarations;
    if (auto read = declarations.walk(input_schema, true); !read)
        return std::unexpected(std::move(read.error()));
    return std::move(declarations.found);
}

HeaderLines make_param_headers(const std::vector<HeaderParam>& params,
                               std::optional<json::Element> arguments) {
    HeaderLines lines;
    for (const HeaderParam& param : params) {
        const auto value = value_of(param, arguments);
        const auto text = value ? header_text(*value) : std::nullopt;
        if (!text) continue;
        lines.emplace_back(std::string(kParamHeader) + param.name, encode_header_value(*text));
    }
    return lines;
}

std::expected<void, std::string> check_param_headers(const std::vector<HeaderParam>& params,
                                                     std::optional<json::Element> arguments,
                                                     const FindHeader& find) {
    for (const HeaderParam& param : params) {
        const std::string name = std::string(kParamHeader) + param.name;
        const auto wrong = [&](std::string_view why) {
            return std::unexpected(fmt::format("header {} {}", name, why));
        };
        const auto value = value_of(param, arguments);
        const auto header = find(name);
        if (!header && !value) continue;
        if (!header) return wrong("is missing");
        if (!value) return wrong("has no value in the arguments");
        const auto decoded = decode_header_value(*header);
        if (!decoded) return wrong("is malformed");
        if (!header_equals(*decoded, *value)) return wrong("is not what the arguments say");
    }
    return {};
}

}  // namespace crab::mcp
