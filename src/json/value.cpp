#include "json/value.hpp"

#include "json/pointer.hpp"
#include "json/writer.hpp"

#include <cmath>

namespace crab::json {
namespace {

using simdjson::dom::element_type;

void write(Writer& writer, const Value& value) {
    if (value.is_null()) {
        writer.null();
    } else if (const auto* truth = value.as_bool()) {
        writer.boolean(*truth);
    } else if (const auto* text = value.as_string()) {
        writer.string(*text);
    } else if (const auto* items = value.as_array()) {
        writer.begin_array();
        for (const Value& item : *items) write(writer, item);
        writer.end_array();
    } else if (const auto* members = value.as_object()) {
        writer.begin_object();
        for (const auto& [key, member] : *members) {
            writer.key(key);
            write(writer, member);
        }
        writer.end_object();
    } else {
        const Number number = *value.as_number();
        if (const auto* small = std::get_if<std::int64_t>(&number)) writer.integer(*small);
        if (const auto* large = std::get_if<std::uint64_t>(&number))
            writer.unsigned_integer(*large);
        if (const auto* real = std::get_if<double>(&number)) writer.number(*real);
    }
}

}  // namespace

Value::Value(Element element) {
    switch (element.type()) {
        case element_type::OBJECT: {
            Members members;
            members.reserve(element.get_object().value_unsafe().size());
            for (const auto field : element.get_object().value_unsafe())
                members.emplace_back(field.key, Value(field.value));
            data_ = std::move(members);
            break;
        }
        case element_type::ARRAY: {
            Items items;
            items.reserve(element.get_array().value_unsafe().size());
            for (const Element item : element.get_array().value_unsafe()) items.emplace_back(item);
            data_ = std::move(items);
            break;
        }
        case element_type::STRING: data_ = std::string(element.get_string().value_unsafe()); break;
        case element_type::INT64: data_ = element.get_int64().value_unsafe(); break;
        case element_type::UINT64: data_ = element.get_uint64().value_unsafe(); break;
        case element_type::DOUBLE: data_ = element.get_double().value_unsafe(); break;
        case element_type::BOOL: data_ = element.get_bool().value_unsafe(); break;
        case element_type::NULL_VALUE: break;
    }
}

Value Value::array(Items items) {
    Value value;
    value.data_ = std::move(items);
    return value;
}

Value Value::object(std::initializer_list<Member> members) {
    Value value;
    value.data_ = Members{};
    for (const auto& [key, member] : members) value.set(key, member);
    return value;
}

Result<Value> Value::parse(std::string_view text, Limits limits) {
    Parser parser(limits);
    auto root = parser.parse(text);
    if (!root) return fail(std::move(root.error()));
    if (root->repeats_names())
        return fail(ErrorCode::kInvalidArgs, "a JSON object has two members of one name");
    return Value(root->element());
}

std::string Value::dump() const {
    std::string out;
    append_to(out);
    return out;
}

void Value::append_to(std::string& out) const {
    Writer writer(out);
    write(writer, *this);
}

bool Value::is_number() const {
    return std::holds_alternative<std::int64_t>(data_) ||
           std::holds_alternative<std::uint64_t>(data_) || std::holds_alternative<double>(data_);
}

std::optional<Number> Value::as_number() const {
    if (const auto* small = std::get_if<std::int64_t>(&data_)) return *small;
    if (const auto* large = std::get_if<std::uint64_t>(&data_)) return *large;
    if (const auto* real = std::get_if<double>(&data_)) return *real;
    return std::nullopt;
}

std::optional<double> Value::as_double() const {
    const auto number = as_number();
    if (!number) return std::nullopt;
    return std::visit([](auto value) { return static_cast<double>(value); }, *number);
}

std::optional<std::int64_t> Value::as_int64() const {
    if (const auto* small = std::get_if<std::int64_t>(&data_)) return *small;
    const auto* real = std::get_if<double>(&data_);
    constexpr double kLimit = 9'223'372'036'854'775'808.0;  // 2^63
    if (!real || !(*real >= -kLimit && *real < kLimit) || !is_whole(*real)) return std::nullopt;
    return static_cast<std::int64_t>(*real);
}

const Value* Value::find(std::string_view key) const {
    const auto* members = as_object();
    if (!members) return nullptr;
    for (const auto& [name, value] : *members) {
        if (name == key) return &value;
    }
    return nullptr;
}

Value* Value::find(std::string_view key) {
    return const_cast<Value*>(std::as_const(*this).find(key));
}

const std::string* Value::find_string(std::string_view key) const {
    const Value* const member = find(key);
    return member != nullptr ? member->as_string() : nullptr;
}

std::string Value::text(std::string_view key) const {
    const std::string* const text = find_string(key);
    return text != nullptr ? *text : std::string();
}

const Value* Value::resolve(std::string_view pointer) const {
    const Value* at = this;
    while (at && !pointer.empty()) {
        if (pointer[0] != '/') return nullptr;
        pointer.remove_prefix(1);
        const std::string_view step = pointer.substr(0, pointer.find('/'));
        pointer.remove_prefix(step.size());
        if (const auto* items = at->as_array()) {
            const auto index = pointer_index(step);
            at = index && *index < items->size() ? &(*items)[*index] : nullptr;
        } else {
            const auto name = unescape_pointer(step);
            at = name ? at->find(*name) : nullptr;
        }
    }
    return at;
}

Value& Value::set(std::string_view key, Value value) {
    if (is_null()) data_ = Members{};
    if (Value* member = find(key)) return *member = std::move(value);
    return std::get<Members>(data_).emplace_back(key, std::move(value)).second;
}

bool Value::erase(std::string_view key) {
    auto* members = as_object();
    return members &&
           std::erase_if(*members, [&](const Member& member) { return member.first == key; }) > 0;
}

Value& Value::push_back(Value item) {
    if (is_null()) data_ = Items{};
    return std::get<Items>(data_).emplace_back(std::move(item));
}

bool operator==(const Value& left, const Value& right) {
    if (left.is_number() && right.is_number())
        return compare(*left.as_number(), *right.as_number()) == 0;
    if (left.data_.index() != right.data_.index()) return false;
    const auto* members = left.as_object();
    if (!members) return left.data_ == right.data_;
    if (members->size() != right.as_object()->size()) return false;
    for (const auto& [key, value] : *members) {
        const Value* other = right.find(key);
        if (!other || !(value == *other)) return false;
    }
    return true;
}

}  // namespace crab::json
