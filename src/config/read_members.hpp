#pragma once

#include "base/duration_text.hpp"
#include "base/log.hpp"
#include "json/value.hpp"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// From values of a checked document into members of option structs. A value of another type is
/// left out: the check has said so.
namespace crab::config {

using json::Value;

inline void read(const Value& value, bool& out) {
    if (const bool* given = value.as_bool()) out = *given;
}
inline void read(const Value& value, double& out) { out = value.as_double().value_or(out); }
inline void read(const Value& value, std::size_t& out) {
    if (const auto given = value.as_int64(); given && *given >= 0)
        out = static_cast<std::size_t>(*given);
}
inline void read(const Value& value, std::string& out) {
    if (const std::string* given = value.as_string()) out = *given;
}
inline void read(const Value& value, std::filesystem::path& out) {
    if (const std::string* given = value.as_string()) out = *given;
}
/// A number has the key's unit (`_ms`, `_s`, `_days`), which is the struct's; a text has its own,
/// such as `5m`.
template <class Period>
inline void read(const Value& value, std::chrono::duration<std::int64_t, Period>& out) {
    using Duration = std::chrono::duration<std::int64_t, Period>;
    if (const auto given = value.as_int64()) out = Duration(*given);
    const std::string* text = value.as_string();
    if (const auto given = text ? parse_duration(*text) : std::nullopt)
        out = std::chrono::duration_cast<Duration>(*given);
}
inline void read(const Value& value, std::vector<std::string>& out) {
    const Value::Items* items = value.as_array();
    if (!items) return;
    out.clear();
    for (const Value& item : *items) {
        if (item.as_string()) out.push_back(*item.as_string());
    }
}
inline void read(const Value& value, std::vector<std::filesystem::path>& out) {
    std::vector<std::string> texts;
    if (!value.as_array()) return;
    read(value, texts);
    out.assign(texts.begin(), texts.end());
}
template <class T>
inline void read(const Value& value, std::optional<T>& out) {
    T inner = out.value_or(T{});
    read(value, inner);
    out = std::move(inner);
}
inline void read(const Value& value, log::Level& out) {
    const std::string* word = value.as_string();
    if (!word) return;
    if (*word == "debug") out = log::Level::kDebug;
    if (*word == "info") out = log::Level::kInfo;
    if (*word == "warn") out = log::Level::kWarn;
    if (*word == "error") out = log::Level::kError;
    if (*word == "off") out = log::Level::kOff;
}
inline void read(const Value& value, log::Format& out) {
    if (const std::string* word = value.as_string())
        out = *word == "json" ? log::Format::kJson : log::Format::kText;
}
/// Members of one object: `(name, out)` reads the member into `out` when it is there.
class Members {
public:
    explicit Members(const Value* object) : object_(object) {}

    template <class T>
    const Members& operator()(std::string_view name, T& out) const {
        if (const Value* member = object_ ? object_->find(name) : nullptr) read(*member, out);
        return *this;
    }
    /// The value itself, where it is no object.
    template <class T>
    void self(T& out) const {
        if (object_) read(*object_, out);
    }
    /// The member as JSON text.
    template <class T>
    const Members& text(std::string_view name, T& out) const {
        if (const Value* member = object_ ? object_->find(name) : nullptr) out = member->dump();
        return *this;
    }
    /// Each item of the list `name` as JSON text.
    void texts(std::string_view name, std::vector<std::string>& out) const {
        const Value* list = object_ ? object_->find(name) : nullptr;
        if (!list || !list->as_array()) return;
        for (const Value& item : *list->as_array()) out.push_back(item.dump());
    }
    Members in(std::string_view name) const {
        return Members(object_ ? object_->find(name) : nullptr);
    }
    bool present() const { return object_ != nullptr; }

    /// One T per item of the list `name`, read by `item`.
    template <class T, class Read>
    void each(std::string_view name, std::vector<T>& out, Read item) const {
        const Value* list = object_ ? object_->find(name) : nullptr;
        if (!list || !list->as_array()) return;
        out.clear();
        for (const Value& value : *list->as_array()) item(Members(&value), out.emplace_back());
    }

    /// One T per member of the mapping `name`, read by `item`.
    template <class T, class Read>
    void entries(std::string_view name, std::map<std::string, T, std::less<>>& out,
                 Read item) const {
        const Value* mapping = object_ ? object_->find(name) : nullptr;
        if (!mapping || !mapping->as_object()) return;
        out.clear();
        for (const auto& [key, value] : *mapping->as_object()) item(Members(&value), out[key]);
    }

private:
    const Value* object_;
};

}  // namespace crab::config
