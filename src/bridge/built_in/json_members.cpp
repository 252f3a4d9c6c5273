#include "bridge/built_in/json_members.hpp"

namespace crab::bridge {

using json::Value;

namespace {

const Value::Items& items_of(const Value* list) {
    static const Value::Items none;
    return list != nullptr && list->is_array() ? *list->as_array() : none;
}

}  // namespace

void pick(Value& to, const Value& from,
          std::initializer_list<std::pair<std::string_view, std::string_view>> names) {
    for (const auto& [theirs, ours] : names) {
        const Value* member = from.find(theirs);
        if (member == nullptr || member->is_null()) continue;
        if (member->as_string() != nullptr && member->as_string()->empty()) continue;
        if (member->is_array() && member->as_array()->empty()) continue;
        to.set(ours, *member);
    }
}

std::string text_in(const Value& from, std::string_view name) {
    const Value* member = from.find(name);
    return member != nullptr && member->as_string() != nullptr ? *member->as_string() : "";
}

std::int64_t integer_in(const Value& from, std::string_view name, std::int64_t otherwise) {
    const Value* member = from.find(name);
    return member != nullptr ? member->as_int64().value_or(otherwise) : otherwise;
}

const Value::Items& items_in(const Value& from, std::string_view name) {
    return items_of(from.find(name));
}

const Value::Items& items_at(const Value& values, std::size_t index) {
    const Value::Items& all = items_of(&values);
    return items_of(index < all.size() ? &all[index] : nullptr);
}

std::vector<std::string> texts_of(const Value::Items& items) {
    std::vector<std::string> texts;
    for (const Value& item : items) {
        if (item.as_string() != nullptr) texts.push_back(*item.as_string());
    }
    return texts;
}

std::string_view word_of(std::int64_t number, std::initializer_list<std::string_view> words) {
    return number >= 0 && static_cast<std::size_t>(number) < words.size() ? words.begin()[number]
                                                                          : "unknown";
}

}  // namespace crab::bridge
