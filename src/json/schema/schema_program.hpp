#pragma once

#include "json/property_table.hpp"
#include "json/schema/format.hpp"
#include "json/schema/pattern.hpp"
#include "json/value.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace crab::json {

using NodeId = std::uint32_t;
constexpr std::uint32_t kNone = ~std::uint32_t{0};  ///< no such node, no such group of rules

/// The types an instance may have, as bits. A whole number has kNumber and kInteger.
enum TypeBit : std::uint8_t {
    kNull = 1,
    kBoolean = 2,
    kObject = 4,
    kArray = 8,
    kString = 16,
    kNumber = 32,
    kInteger = 64,
    kAnyType = 127
};

/// `enum` and `const`.
struct ValueRules {
    std::vector<Value> allowed;
    PropertyTable texts;  ///< the same, when they are a few strings
    std::vector<std::pair<std::size_t, std::uint32_t>>
        by_hash;  ///< sorted; for long lists of others
    bool is_const = false;
    std::uint64_t weight = 0;  ///< steps that a comparison with all of them costs; 0: hardly any
};

struct NumberRules {
    std::optional<Number> minimum, maximum, exclusive_minimum, exclusive_maximum, multiple_of;
};

struct StringRules {
    std::size_t min_length = 0;  ///< code points
    std::size_t max_length = std::numeric_limits<std::size_t>::max();
    std::optional<Pattern> pattern;
    std::string pattern_text;
    std::optional<Format> format;
    std::string format_name;
};

struct ArrayRules {
    std::size_t min_items = 0;
    std::size_t max_items = std::numeric_limits<std::size_t>::max();
    bool unique = false;
    std::vector<NodeId> prefix;
    NodeId rest = kNone;  ///< for the items behind the prefix
    const char* rest_keyword = "items";
    NodeId contains = kNone;
    std::size_t min_contains = 1;
    std::size_t max_contains = std::numeric_limits<std::size_t>::max();
    /// Whether `unevaluatedItems` passes over what `contains` matched: since 2020-12
    bool contains_evaluates = false;
};

/// `dependentRequired`, `dependentSchemas` and `dependencies`.
struct Dependency {
    std::uint32_t trigger;  ///< in the property table, as `needed`
    std::vector<std::uint32_t> needed;
    NodeId schema = kNone;
    const char* keyword;
};

struct ObjectRules {
    std::size_t min_properties = 0;
    std::size_t max_properties = std::numeric_limits<std::size_t>::max();
    PropertyTable names;        ///< first the required ones, then all others that a rule names
    std::uint32_t required = 0;  ///< how many of them are required
    /// By number in `names`; kNone when only another rule names it
    std::vector<NodeId> properties;
    std::vector<std::pair<Pattern, NodeId>> patterns;
    NodeId additional = kNone;
    NodeId property_names = kNone;
    std::vector<Dependency> dependencies;
};

/// A reference that looks for its target in the dynamic scope, outermost resource first.
struct DynamicReference {
    std::string anchor;
    NodeId otherwise = kNone;
    std::vector<std::pair<std::uint32_t, NodeId>> targets;  ///< resource and node
    const char* keyword = "$dynamicRef";
};

/// The keywords that apply schemas to the same instance.
struct InPlaceRules {
    NodeId reference = kNone;
    std::optional<DynamicReference> dynamic;
    std::vector<NodeId> all_of, any_of, one_of;
    NodeId none_of = kNone;  ///< `not`
    NodeId condition = kNone, consequence = kNone, alternative = kNone;  ///< if, then, else
    NodeId unevaluated_items = kNone;
    NodeId unevaluated_properties = kNone;
};

/// One schema. The groups of rules are indexes into the program's lists, or kNone.
struct SchemaNode {
    std::uint8_t types = kAnyType;
    bool accepts_all = false;   ///< `true`, `{}`
    bool accepts_none = false;  ///< `false`
    bool strict_integer = false;  ///< draft 4: 1.0 is not an integer
    std::uint32_t resource = 0;
    std::uint32_t values = kNone, numbers = kNone, strings = kNone, arrays = kNone, objects = kNone,
                  in_place = kNone;
};

/// A compiled schema and everything it refers to.
struct SchemaProgram {
    std::vector<SchemaNode> nodes;  ///< the root is the first
    std::vector<std::string> locations;  ///< by node
    std::vector<ValueRules> values;
    std::vector<NumberRules> numbers;
    std::vector<StringRules> strings;
    std::vector<ArrayRules> arrays;
    std::vector<ObjectRules> objects;
    std::vector<InPlaceRules> in_place;
    bool dynamic = false;  ///< whether the dynamic scope matters
    std::size_t bytes = 0;  ///< of memory that it takes, about
};

}  // namespace crab::json
