#include "config/yaml_text.hpp"

#include "config/yaml_document.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <yaml-cpp/yaml.h>

namespace crab::config {
namespace {

/// What YAML 1.1 readers, of which there are many, take for a boolean, null or a number.
bool has_another_meaning(const std::string& text) {
    constexpr std::array<std::string_view, 11> kWords{"true", "false", "yes",  "no", "on", "off",
                                                      "y",    "n",     "null", "~",  ""};
    std::string lower = text;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (std::ranges::find(kWords, lower) != kWords.end()) return true;
    const auto read = resolve_core_scalar(text);
    return !read || read->as_string() == nullptr;
}

/// Letters first, and nothing that begins a comment, a pair or a flow.
bool is_plain(const std::string& text) {
    constexpr std::string_view kInside = "_-./@+ ";
    if (text.empty() || std::isalpha(static_cast<unsigned char>(text.front())) == 0 ||
        text.back() == ' ')
        return false;
    const bool known = std::ranges::all_of(text, [&](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || kInside.contains(c);
    });
    return known && !has_another_meaning(text);
}

void emit(YAML::Emitter& out, const std::string& text) {
    if (is_plain(text))
        out << text;
    else
        out << YAML::DoubleQuoted << text;
}

void emit(YAML::Emitter& out, const json::Value& value) {
    if (const auto* items = value.as_array()) {
        if (items->empty()) out << YAML::Flow;
        out << YAML::BeginSeq;
        for (const json::Value& item : *items) emit(out, item);
        out << YAML::EndSeq;
    } else if (const auto* members = value.as_object()) {
        if (members->empty()) out << YAML::Flow;
        out << YAML::BeginMap;
        for (const auto& [name, member] : *members) {
            out << YAML::Key;
            emit(out, name);
            out << YAML::Value;
            emit(out, member);
        }
        out << YAML::EndMap;
    } else if (const std::string* text = value.as_string()) {
        emit(out, *text);
    } else if (value.is_null()) {
        out << YAML::Null;
    } else if (const bool* truth = value.as_bool()) {
        out << *truth;
    } else {
        out << value.dump();  // a number
    }
}

}  // namespace

std::string to_yaml(const json::Value& value) {
    YAML::Emitter out;
    emit(out, value);
    return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace crab::config
