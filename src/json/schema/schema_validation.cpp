#include "json/schema/schema_validation.hpp"

#include "json/pointer.hpp"
#include "json/schema/schema_text.hpp"
#include "json/unicode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <ranges>

namespace crab::json {
namespace {

using simdjson::dom::element_type;

constexpr std::uint32_t kMaxDepth = 1'000;         // schemas applied inside each other
// what the budget grows by for each value in a large instance …
constexpr std::uint64_t kStepsOfValue = 8;
constexpr std::uint64_t kStepsOfByte = 2;          // … and for each byte of its strings
constexpr std::uint64_t kBytesOfStep = 64;         // of texts that are compared or hashed

std::uint8_t types_of(Element value, bool strict_integer) {
    switch (value.type()) {
        case element_type::OBJECT: return kObject;
        case element_type::ARRAY: return kArray;
        case element_type::STRING: return kString;
        case element_type::BOOL: return kBoolean;
        case element_type::NULL_VALUE: return kNull;
        case element_type::INT64:
        case element_type::UINT64: return kNumber | kInteger;
        case element_type::DOUBLE: {
            const double real = value.get_double().value_unsafe();
            // integers beyond 64 bits are doubles to the parser
            constexpr double kTwo63 = 9'223'372'036'854'775'808.0;
            const bool integer =
                is_whole(real) && (!strict_integer || real >= kTwo63 || real < -kTwo63);
            return integer ? kNumber | kInteger : kNumber;
        }
    }
    return 0;
}

Number number_of(Element value) {
    if (value.is_int64()) return value.get_int64().value_unsafe();
    if (value.is_uint64()) return value.get_uint64().value_unsafe();
    return value.get_double().value_unsafe();
}

// The name of a member as an element. simdjson gives names as text only, but an iterator is a
// position on its tape like an element, and at that position lies the name, a string like any
// other.
Element name_element(const Object::iterator& member) {
    static_assert(sizeof(Object::iterator) == sizeof(Element) &&
                  std::is_trivially_copyable_v<Object::iterator> &&
                  std::is_trivially_copyable_v<Element>);
    return std::bit_cast<Element>(member);
}

/// What it takes to look at all of a value: its parts, and the bytes of its strings.
struct Size {
    std::uint64_t values = 0, bytes = 0;
    std::uint64_t steps() const { return values + bytes / kBytesOfStep; }
};

void add_size(Element value, Size& size) {
    ++size.values;
    switch (value.type()) {
        case element_type::OBJECT:
            for (const auto field : value.get_object().value_unsafe()) {
                size.bytes += field.key.size();
                add_size(field.value, size);
            }
            return;
        case element_type::ARRAY:
            for (const Element item : value.get_array().value_unsafe()) add_size(item, size);
            return;
        case element_type::STRING: size.bytes += value.get_string_length().value_unsafe(); return;
        case element_type::INT64:
        case element_type::UINT64:
        case element_type::DOUBLE:
        case element_type::BOOL:
        case element_type::NULL_VALUE: return;
    }
}

Size size_of(Element value) {
    Size size;
    add_size(value, size);
    return size;
}

std::string plural(std::size_t count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace

SchemaViolation too_costly(const SchemaProgram& program) {
    return {.instance_pointer = {},
            .schema_pointer = program.locations[0],
            .rule = "cost",
            .message =
                "(root): the schema refers to itself without end, or needs too many steps for this "
                "value"};
}

/// One schema entered: counts depth and steps, and keeps the dynamic scope.
struct SchemaValidation::Level {
    Level(SchemaValidation& run, const SchemaNode& node)
        : owner(run),
          pushed(run.program_.dynamic &&
                 (run.scope_.empty() || run.scope_.back() != node.resource)) {
        if (pushed) owner.scope_.push_back(node.resource);
        ++owner.depth_;
    }
    ~Level() {
        if (pushed) owner.scope_.pop_back();
        --owner.depth_;
    }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

    SchemaValidation& owner;
    bool pushed;
};

template <class Say>
bool SchemaValidation::violated(NodeId id, const char* rule, const Path* path, Say say) {
    if (keep_going()) note(id, rule, path, say());
    return false;
}

void SchemaValidation::note(NodeId id, const char* rule, const Path* path, std::string text) {
    std::vector<const Path*> steps;
    for (const Path* step = path; step; step = step->parent) steps.push_back(step);
    std::string pointer;
    for (const Path* step : steps | std::views::reverse) {
        pointer += '/';
        pointer += step->key.data() ? escape_pointer(step->key) : std::to_string(step->index);
    }
    constexpr std::size_t kMaxText = 300;
    std::string message = (pointer.empty() ? "(root)" : shortened(pointer, 120)) + ": " +
                          shortened(std::move(text), kMaxText);
    const bool keyword_of_its_own = *rule != '\0';
    violations_->push_back({.instance_pointer = std::move(pointer),
                            .schema_pointer = program_.locations[id] +
                                              (keyword_of_its_own ? "/" + std::string(rule) : ""),
                            .rule = keyword_of_its_own ? rule : "false",
                            .message = std::move(message)});
}

/// Large instances may cost more, in proportion: that is counted only when the run gets there.
bool SchemaValidation::extend(std::uint64_t steps) {
    if (exhausted_) return false;
    if (!std::exchange(extended_, true)) {
        const Size size = size_of(instance_);
        budget_ += size.values * kStepsOfValue + size.bytes * kStepsOfByte;
    }
    if (steps <= budget_) {
        budget_ -= steps;
        return true;
    }
    exhausted_ = true;
    return false;
}

bool SchemaValidation::finds(const Pattern& pattern, std::string_view text) {
    for (;;) {
        if (const auto found = pattern.search(text, budget_)) return *found;
        if (extended_ || !extend(0)) break;
    }
    exhausted_ = true;
    return false;
}

bool SchemaValidation::run(Element instance) {
    instance_ = instance;
    const bool valid = check(0, instance, nullptr, nullptr) && !exhausted_;
    if (exhausted_ && violations_ && violations_->empty())
        violations_->push_back(too_costly(program_));
    return valid;
}

bool SchemaValidation::check(NodeId id, Element value, const Path* path, Evaluated* seen) {
    const SchemaNode& node = program_.nodes[id];
    if (node.accepts_all) return true;
    if (node.accepts_none) return violated(id, "", path, [] { return "no value is allowed here"; });
    if (depth_ >= kMaxDepth) exhausted_ = true;
    if (exhausted_ || !spend(1)) return false;
    const bool leaf = node.in_place == kNone && node.objects == kNone && node.arrays == kNone;
    if (leaf) return check_rules(id, node, value, path, seen);
    const Level level(*this, node);
    if (node.in_place != kNone) {
        const InPlaceRules& rules = program_.in_place[node.in_place];
        const bool tracks = (rules.unevaluated_items != kNone && value.is_array()) ||
                            (rules.unevaluated_properties != kNone && value.is_object());
        if (tracks) return check_unevaluated(id, node, value, path, seen);
    }
    return check_rules(id, node, value, path, seen);
}

bool SchemaValidation::check_rules(NodeId id, const SchemaNode& node, Element value,
                                   const Path* path, Evaluated* seen) {
    bool valid = true;
    if (node.types != kAnyType && (types_of(value, node.strict_integer) & node.types) == 0) {
        return violated(id, "type", path, [&] {
            return fmt::format("must be {}, not {}", name_types(node.types), name_type_of(value));
        });
    }
    if (node.values != kNone) valid = check_values(id, program_.values[node.values], value, path);
    if (!valid) return false;
    switch (value.type()) {
        case element_type::OBJECT:
            if (node.objects != kNone)
                valid = check_object(id, program_.objects[node.objects], value, path, seen);
            break;
        case element_type::ARRAY:
            if (node.arrays != kNone)
                valid = check_array(id, program_.arrays[node.arrays],
                                    value.get_array().value_unsafe(), path, seen);
            break;
        case element_type::STRING:
            if (node.strings != kNone)
                valid = check_string(id, program_.strings[node.strings],
                                     value.get_string().value_unsafe(), path);
            break;
        case element_type::INT64:
        case element_type::UINT64:
        case element_type::DOUBLE:
            if (node.numbers != kNone)
                valid = check_number(id, program_.numbers[node.numbers], value, path);
            break;
        case element_type::BOOL:
        case element_type::NULL_VALUE: break;
    }
    if (node.in_place == kNone || (!valid && !keep_going())) return valid;
    return check_in_place(id, program_.in_place[node.in_place], value, path, seen) && valid;
}

bool SchemaValidation::check_unevaluated(NodeId id, const SchemaNode& node, Element value,
                                         const Path* path, Evaluated* seen) {
    const InPlaceRules& rules = program_.in_place[node.in_place];
    const bool is_object = value.is_object();
    const std::size_t size = is_object ? value.get_object().value_unsafe().size()
                                       : value.get_array().value_unsafe().size();
    if (!spend(size)) return false;
    Evaluated own(size);
    if (!check_rules(id, node, value, path, &own)) return false;
    const NodeId schema = is_object ? rules.unevaluated_properties : rules.unevaluated_items;
    const char* const rule = is_object ? "unevaluatedProperties" : "unevaluatedItems";
    const bool forbids = program_.nodes[schema].accepts_none;
    bool valid = true;
    const auto one = [&](Element part, const Path& here, std::size_t index) {
        if (own.has(index)) return true;
        if (forbids)
            return violated(id, rule, &here, [&] {
                return std::string(is_object ? "this property is not allowed"
                                             : "this item is not allowed");
            });
        return check(schema, part, &here, nullptr);
    };
    std::size_t index = 0;
    if (is_object) {
        for (const auto field : value.get_object().value_unsafe()) {
            valid = one(field.value, Path{path, field.key, 0}, index++) && valid;
            if (!valid && !keep_going()) return false;
        }
    } else {
        for (const Element item : value.get_array().value_unsafe()) {
            valid = one(item, Path{path, {}, index}, index) && valid;
            ++index;
            if (!valid && !keep_going()) return false;
        }
    }
    if (seen) seen->all = true;
    return valid;
}

bool SchemaValidation::check_values(NodeId id, const ValueRules& rules, Element value,
                                    const Path* path) {
    bool found = false;
    if (rules.texts.size() > 0) {
        std::string_view text;
        const bool is_text = value.get(text) == simdjson::SUCCESS;
        if (is_text && !spend(text.size() / kBytesOfStep)) return false;
        found = is_text && rules.texts.find(text) != PropertyTable::kNone;
    } else if (rules.weight > 0 &&
               !spend(rules.by_hash.empty() ? rules.weight : size_of(value).steps())) {
        return false;
    } else if (rules.by_hash.empty()) {
        found = std::ranges::any_of(rules.allowed,
                                    [&](const Value& allowed) { return equal(value, allowed); });
    } else {
        const std::size_t hash = hash_of(value);
        auto candidate = std::ranges::lower_bound(rules.by_hash, hash, {},
                                                  &std::pair<std::size_t, std::uint32_t>::first);
        for (; !found && candidate != rules.by_hash.end() && candidate->first == hash; ++candidate)
            found = equal(value, rules.allowed[candidate->second]);
    }
    if (found) return true;
    return violated(id, rules.is_const ? "const" : "enum", path, [&] {
        return rules.is_const ? fmt::format("must be {}", list_values(rules))
                              : fmt::format("must be one of {}", list_values(rules));
    });
}

bool SchemaValidation::check_number(NodeId id, const NumberRules& rules, Element value,
                                    const Path* path) {
    const Number number = number_of(value);
    const auto say = [&](std::string_view what, const Number& bound) {
        return fmt::format("{} is {} {}", shown(number), what, shown(bound));
    };
    bool valid = true;
    if (rules.minimum && compare(number, *rules.minimum) < 0) {
        valid = violated(id, "minimum", path,
                         [&] { return say("less than the minimum", *rules.minimum); });
    }
    if (rules.maximum && compare(number, *rules.maximum) > 0) {
        valid = violated(id, "maximum", path,
                         [&] { return say("more than the maximum", *rules.maximum); });
    }
    if (rules.exclusive_minimum && compare(number, *rules.exclusive_minimum) <= 0) {
        valid = violated(id, "exclusiveMinimum", path,
                         [&] { return say("not more than", *rules.exclusive_minimum); });
    }
    if (rules.exclusive_maximum && compare(number, *rules.exclusive_maximum) >= 0) {
        valid = violated(id, "exclusiveMaximum", path,
                         [&] { return say("not less than", *rules.exclusive_maximum); });
    }
    if (rules.multiple_of && !is_multiple(number, *rules.multiple_of)) {
        valid = violated(id, "multipleOf", path,
                         [&] { return say("not a multiple of", *rules.multiple_of); });
    }
    return valid;
}

bool SchemaValidation::check_string(NodeId id, const StringRules& rules, std::string_view text,
                                    const Path* path) {
    bool valid = true;
    // A code point takes one to four bytes, which decides most cases without counting.
    if (text.size() > rules.max_length ||
        (rules.min_length > 0 && text.size() < 4 * rules.min_length)) {
        const std::size_t length = count_code_points(text);
        if (length < rules.min_length) {
            valid = violated(id, "minLength", path, [&] {
                return length == 0 && rules.min_length == 1
                           ? std::string("must not be empty")
                           : fmt::format("has {}, fewer than the minimum {}",
                                         plural(length, "character", "characters"),
                                         rules.min_length);
            });
        }
        if (length > rules.max_length) {
            valid = violated(id, "maxLength", path, [&] {
                return fmt::format("has {}, more than the maximum {}",
                                   plural(length, "character", "characters"), rules.max_length);
            });
        }
    }
    if (rules.pattern && (valid || keep_going()) && !finds(*rules.pattern, text)) {
        valid = violated(id, "pattern", path, [&] {
            return fmt::format("{} does not match the pattern {}", quoted_name(text),
                               quoted_name(rules.pattern_text));
        });
    }
    if (rules.format && (valid || keep_going()) && !has_format(*rules.format, text)) {
        valid = violated(id, "format", path, [&] {
            return fmt::format("{} is not a valid {}", quoted_name(text), rules.format_name);
        });
    }
    return valid;
}

bool SchemaValidation::check_array(NodeId id, const ArrayRules& rules, Array array,
                                   const Path* path, Evaluated* seen) {
    bool valid = true;
    const std::size_t size = array.size();
    if (size < rules.min_items) {
        valid = violated(id, "minItems", path, [&] {
            return fmt::format("has {}, fewer than the minimum {}", plural(size, "item", "items"),
                               rules.min_items);
        });
    }
    if (size > rules.max_items) {
        valid = violated(id, "maxItems", path, [&] {
            return fmt::format("has {}, more than the maximum {}", plural(size, "item", "items"),
                               rules.max_items);
        });
    }
    if (!valid && !keep_going()) return false;
    if (!spend(size / 4)) return false;
    std::size_t index = 0;
    std::size_t matches = 0;
    const bool rest_allowed = rules.rest == kNone || !program_.nodes[rules.rest].accepts_none;
    for (const Element item : array) {
        const Path here{path, {}, index};
        if (index < rules.prefix.size()) {
            valid = check(rules.prefix[index], item, &here, nullptr) && valid;
            if (seen) seen->bits.set(index);
        } else if (!rest_allowed) {
            valid = violated(id, rules.rest_keyword, &here, [&] {
                return fmt::format("this item is not allowed: at most {} here",
                                   plural(rules.prefix.size(), "item", "items"));
            });
        } else if (rules.rest != kNone) {
            valid = check(rules.rest, item, &here, nullptr) && valid;
        }
        if (rules.contains != kNone && (seen || matches < rules.min_contains ||
                                        rules.max_contains != ArrayRules().max_contains)) {
            if (accepts(rules.contains, item, &here, nullptr)) {
                ++matches;
                if (seen && rules.contains_evaluates) seen->bits.set(index);
            }
        }
        if (!valid && !keep_going()) return false;
        ++index;
    }
    if (seen && rules.rest != kNone) seen->all = true;
    valid = check_matches(id, rules, matches, path) && valid;
    if (rules.unique && (valid || keep_going()) && has_repeated_item(array)) {
        valid = violated(id, "uniqueItems", path,
                         [] { return "two items are equal, but all must differ"; });
    }
    return valid;
}

/// `matches`: how many items are as `contains` wants them.
bool SchemaValidation::check_matches(NodeId id, const ArrayRules& rules, std::size_t matches,
                                     const Path* path) {
    if (rules.contains == kNone) return true;
    bool valid = true;
    if (matches < rules.min_contains) {
        valid = violated(id, rules.min_contains == 1 ? "contains" : "minContains", path, [&] {
            return fmt::format(
                "must contain at least {} of the kind that the schema asks for, has {}",
                plural(rules.min_contains, "item", "items"), matches);
        });
    }
    if (matches > rules.max_contains) {
        valid = violated(id, "maxContains", path, [&] {
            return fmt::format("has {} of a kind that may occur at most {} times",
                               plural(matches, "item", "items"), rules.max_contains);
        });
    }
    return valid;
}

bool SchemaValidation::has_repeated_item(Array array) {
    constexpr std::size_t kFew = 12;
    Size size;
    for (const Element item : array) add_size(item, size);
    if (array.size() <= kFew) {
        if (!spend(size.steps() * array.size() / 2)) return false;
        for (auto one = array.begin(); one != array.end(); ++one) {
            auto other = one;
            for (++other; other != array.end(); ++other) {
                if (equal(*one, *other)) return true;
            }
        }
        return false;
    }
    if (!spend(size.steps())) return false;
    // Equal items have equal hashes, so only neighbours in the order of hashes are compared.
    std::vector<std::pair<std::size_t, Element>> items;
    items.reserve(array.size());
    for (const Element item : array) items.emplace_back(hash_of(item), item);
    std::ranges::sort(items, {}, &std::pair<std::size_t, Element>::first);
    for (std::size_t one = 0; one < items.size(); ++one) {
        for (std::size_t other = one + 1;
             other < items.size() && items[other].first == items[one].first; ++other) {
            if (equal(items[one].second, items[other].second)) return true;
            if (!spend(size_of(items[one].second).steps())) return false;  // made-up collisions
        }
    }
    return false;
}

bool SchemaValidation::check_size(NodeId id, const ObjectRules& rules, std::size_t size,
                                  const Path* path) {
    bool valid = true;
    if (size < rules.min_properties) {
        valid = violated(id, "minProperties", path, [&] {
            return fmt::format("has {}, fewer than the minimum {}",
                               plural(size, "property", "properties"), rules.min_properties);
        });
    }
    if (size > rules.max_properties) {
        valid = violated(id, "maxProperties", path, [&] {
            return fmt::format("has {}, more than the maximum {}",
                               plural(size, "property", "properties"), rules.max_properties);
        });
    }
    return valid;
}

bool SchemaValidation::check_object(NodeId id, const ObjectRules& rules, Element value,
                                    const Path* path, Evaluated* seen) {
    const Object object = value.get_object().value_unsafe();
    const std::size_t size = object.size();
    bool valid = check_size(id, rules, size, path);
    if (!valid && !keep_going()) return false;
    if (!spend(size / 2 + rules.names.size() / 64)) return false;
    Bits present(rules.names.size());
    const bool forbids_others =
        rules.additional != kNone && program_.nodes[rules.additional].accepts_none;
    std::size_t index = 0;
    std::uint32_t expected = 0;
    const auto end = object.end();
    for (auto member = object.begin(); member != end; ++member, ++index) {
        const std::string_view name = member.key();
        const Path here{path, name, 0};
        bool evaluated = false;
        if (const std::uint32_t number = rules.names.find(name, expected);
            number != PropertyTable::kNone) {
            present.set(number);
            expected = number + 1;
            if (const NodeId property = rules.properties[number]; property != kNone) {
                evaluated = true;
                valid = check(property, member.value(), &here, nullptr) && valid;
            }
        }
        for (const auto& [pattern, schema] : rules.patterns) {
            if (!finds(pattern, name)) continue;
            evaluated = true;
            valid = check(schema, member.value(), &here, nullptr) && valid;
        }
        if (!evaluated && rules.additional != kNone) {
            evaluated = true;
            if (forbids_others) {
                valid = violated(id, "additionalProperties", &here, [&] {
                    return fmt::format("this property is not allowed; known here: {}",
                                       list_names(rules));
                });
            } else {
                valid = check(rules.additional, member.value(), &here, nullptr) && valid;
            }
        }
        if (rules.property_names != kNone &&
            !accepts(rules.property_names, name_element(member), &here, nullptr)) {
            valid = violated(id, "propertyNames", &here, [&] {
                return fmt::format("the property name is not allowed: {}",
                                   reason(rules.property_names, name_element(member), &here));
            });
        }
        if (seen && evaluated) seen->bits.set(index);
        if (!valid && !keep_going()) return false;
    }
    return check_names(id, rules, present, value, path, seen) && valid;
}

bool SchemaValidation::check_names(NodeId id, const ObjectRules& rules, const Bits& present,
                                   Element value, const Path* path, Evaluated* seen) {
    bool valid = true;
    if (!present.has_first(rules.required)) {
        valid = false;
        if (!keep_going()) return false;
        for (std::uint32_t number = 0; number < rules.required && keep_going(); ++number) {
            if (present.test(number)) continue;
            const Path missing{path, rules.names.name(number), 0};
            violated(id, "required", &missing, [] { return "required property is missing"; });
        }
    }
    for (const Dependency& dependency : rules.dependencies) {
        if (!present.test(dependency.trigger)) continue;
        if (!spend(dependency.needed.size() / 8)) return false;
        for (const std::uint32_t number : dependency.needed) {
            if (present.test(number)) continue;
            const Path missing{path, rules.names.name(number), 0};
            valid = violated(id, dependency.keyword, &missing, [&] {
                return fmt::format("required when {} is present",
                                   quoted_name(rules.names.name(dependency.trigger)));
            });
        }
        if (dependency.schema != kNone)
            valid = check(dependency.schema, value, path, seen) && valid;
        if (!valid && !keep_going()) return false;
    }
    return valid;
}

bool SchemaValidation::check_in_place(NodeId id, const InPlaceRules& rules, Element value,
                                      const Path* path, Evaluated* seen) {
    bool valid = true;
    const auto stop = [&] { return !valid && !keep_going(); };
    if (rules.reference != kNone) valid = check(rules.reference, value, path, seen);
    if (stop()) return false;
    if (rules.dynamic) valid = check_dynamic(*rules.dynamic, value, path, seen) && valid;
    if (stop()) return false;
    for (const NodeId schema : rules.all_of) {
        valid = check(schema, value, path, seen) && valid;
        if (stop()) return false;
    }
    if (!rules.any_of.empty()) {
        bool any = false;
        for (const NodeId schema : rules.any_of) {
            any = accepts(schema, value, path, seen) || any;
            if (any && !seen) break;  // with unevaluated… every branch counts
        }
        if (!any) {
            valid = violated(id, "anyOf", path, [&] {
                std::string text =
                    fmt::format("matches none of the {} alternatives", rules.any_of.size());
                for (std::size_t i = 0; i < rules.any_of.size() && i < 4; ++i)
                    text += fmt::format("{} ({}) {}", i == 0 ? ":" : ";", i + 1,
                                        reason(rules.any_of[i], value, path));
                return text;
            });
        }
        if (stop()) return false;
    }
    if (!rules.one_of.empty()) {
        valid = check_one_of(id, rules, value, path, seen) && valid;
        if (stop()) return false;
    }
    if (rules.none_of != kNone && accepts(rules.none_of, value, path, nullptr)) {
        valid = violated(id, "not", path, [&] {
            return fmt::format("{} matches a schema that it must not match", shown(value));
        });
        if (stop()) return false;
    }
    if (rules.condition != kNone) {
        const NodeId branch =
            accepts(rules.condition, value, path, seen) ? rules.consequence : rules.alternative;
        if (branch != kNone) valid = check(branch, value, path, seen) && valid;
    }
    return valid;
}

bool SchemaValidation::check_one_of(NodeId id, const InPlaceRules& rules, Element value,
                                    const Path* path, Evaluated* seen) {
    std::size_t first = rules.one_of.size();
    for (std::size_t i = 0; i < rules.one_of.size(); ++i) {
        if (!accepts(rules.one_of[i], value, path, seen)) continue;
        if (first < i) {
            return violated(id, "oneOf", path, [&] {
                return fmt::format(
                    "matches the alternatives {} and {} of {}, but must match exactly one",
                    first + 1, i + 1, rules.one_of.size());
            });
        }
        first = i;
    }
    if (first < rules.one_of.size()) return true;
    return violated(id, "oneOf", path, [&] {
        std::string text = fmt::format("matches none of the {} alternatives", rules.one_of.size());
        for (std::size_t i = 0; i < rules.one_of.size() && i < 4; ++i)
            text += fmt::format("{} ({}) {}", i == 0 ? ":" : ";", i + 1,
                                reason(rules.one_of[i], value, path));
        return text;
    });
}

bool SchemaValidation::check_dynamic(const DynamicReference& reference, Element value,
                                     const Path* path, Evaluated* seen) {
    if (!spend(scope_.size() * reference.targets.size() / 8)) return false;
    for (const std::uint32_t resource : scope_) {
        for (const auto& [target, schema] : reference.targets) {
            if (target == resource) return check(schema, value, path, seen);
        }
    }
    return check(reference.otherwise, value, path, seen);
}

bool SchemaValidation::accepts(NodeId id, Element value, const Path* path, Evaluated* seen) {
    auto* const kept = std::exchange(violations_, nullptr);
    bool valid;
    if (seen) {
        (void)spend(seen->bits.size() / 256);
        Evaluated branch(seen->bits.size());
        valid = check(id, value, path, &branch);
        if (valid) seen->merge(branch);
    } else {
        valid = check(id, value, path, nullptr);
    }
    violations_ = kept;
    return valid;
}

std::string SchemaValidation::reason(NodeId id, Element value, const Path* path) {
    constexpr std::uint64_t kWords = 20;  // sentences cost more than a look
    (void)spend(kWords);
    std::vector<SchemaViolation> found;
    auto* const kept = std::exchange(violations_, &found);
    const std::size_t most = std::exchange(max_violations_, 1);
    check(id, value, path, nullptr);
    violations_ = kept;
    max_violations_ = most;
    if (found.empty()) return "is not accepted";
    std::string& message = found[0].message;
    // Only where the trouble lies deeper than the value itself, its pointer says something new.
    std::size_t here = 0;
    for (const Path* step = path; step; step = step->parent) ++here;
    const auto there = static_cast<std::size_t>(std::ranges::count(found[0].instance_pointer, '/'));
    return there > here ? message : message.substr(message.find(": ") + 2);
}

}  // namespace crab::json
