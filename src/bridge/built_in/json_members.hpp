#pragma once

#include "json/value.hpp"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace crab::bridge {

/// Copies members of `from` into `to` under other names: those that are present and not empty.
void pick(json::Value& to, const json::Value& from,
          std::initializer_list<std::pair<std::string_view, std::string_view>> names);

/// The member as text, as a whole number, or as a list; empty, 0 when it is of another type or
/// absent.
std::string text_in(const json::Value& from, std::string_view name);
std::int64_t integer_in(const json::Value& from, std::string_view name, std::int64_t otherwise = 0);
const json::Value::Items& items_in(const json::Value& from, std::string_view name);
/// The items of the list at that index of a list; empty when there is no such list.
const json::Value::Items& items_at(const json::Value& values, std::size_t index);
/// All items that are text.
std::vector<std::string> texts_of(const json::Value::Items& items);

/// The word at that index, such as a state of a service; `unknown` beyond the list.
std::string_view word_of(std::int64_t number, std::initializer_list<std::string_view> words);

}  // namespace crab::bridge
