#include "hosts/command/argv_template.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace crab::command {
namespace {

constexpr std::size_t kMaxWords = 4096;
constexpr std::size_t kMaxWordBytes = 128 * 1024;   // one argument of execve() on Linux

bool is_name(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-';
    });
}

/// `100.0` and `1e2` are the integer 100 to JSON Schema, so a program gets `100`. In digits alone,
/// however many: sed takes the e of `1e+300` for its command that runs a shell.
std::string number_text(json::Element value) {
    constexpr std::size_t kMostDigits = 400;
    const double number = value.get_double().value_unsafe();
    if (number == 0) return "0";  // and not -0
    std::array<char, kMostDigits> digits{};
    const auto end =
        std::to_chars(digits.begin(), digits.end(), number, std::chars_format::fixed).ptr;
    return {digits.begin(), end};
}

}  // namespace

Result<std::string> word_of(std::string_view name, json::Element value) {
    std::string text;
    switch (value.type()) {
        case simdjson::dom::element_type::STRING: text = value.get_string().value_unsafe(); break;
        case simdjson::dom::element_type::INT64:
        case simdjson::dom::element_type::UINT64:
        case simdjson::dom::element_type::BOOL: text = json::to_text(value); break;
        case simdjson::dom::element_type::DOUBLE: text = number_text(value); break;
        case simdjson::dom::element_type::ARRAY:
        case simdjson::dom::element_type::OBJECT:
        case simdjson::dom::element_type::NULL_VALUE:
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("/{}: must be a string, a number or a boolean here", name));
    }
    if (text.find('\0') != text.npos)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("/{}: may not hold a NUL character", name));
    if (text.size() >= kMaxWordBytes)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("/{}: is too long for a word of a command", name));
    return text;
}

/// The words so far.
class ArgvTemplate::Expansion {
public:
    explicit Expansion(json::Element arguments) : arguments_(arguments) {}

    Result<void> add(const std::vector<Element>& elements) {
        for (const Element& element : elements) {
            if (auto added =
                    element.condition.empty() ? add_word(element) : add_conditional(element);
                !added)
                return added;
        }
        return {};
    }
    std::vector<std::string> words;

private:
    Result<void> add_conditional(const Element& element) {
        const auto value = json::get(arguments_, element.condition);
        const bool is_false = value && value->is_bool() && !value->get_bool().value_unsafe();
        return value && !value->is_null() && !is_false ? add(element.inner) : Result<void>();
    }

    Result<void> add_word(const Element& element) {
        if (element.spread) return add_list(element.pieces.front().text);
        std::string word;
        for (const Piece& piece : element.pieces) {
            if (!piece.is_argument) {
                word += piece.text;
                continue;
            }
            const auto value = json::get(arguments_, piece.text);
            if (!value)
                return fail(ErrorCode::kInvalidArgs, fmt::format("/{}: is missing", piece.text));
            auto text = word_of(piece.text, *value);
            if (!text) return fail(std::move(text.error()));
            word += *text;
        }
        const Piece& first = element.pieces.front();
        const bool fixed = std::ranges::none_of(element.pieces, &Piece::is_argument);
        return push(std::move(word), first.is_argument ? first.text : std::string_view(), fixed);
    }

    Result<void> add_list(const std::string& name) {
        const auto items = json::get_array(arguments_, name);
        if (!items) return fail(ErrorCode::kInvalidArgs, fmt::format("/{}: must be a list", name));
        for (const json::Element item : *items) {
            auto text = word_of(name, item);
            if (!text) return fail(std::move(text.error()));
            if (auto pushed = push(std::move(*text), name, false); !pushed) return pushed;
        }
        return {};
    }

    /// `argument`: the one that the word begins with; empty when it begins with fixed text.
    /// `fixed`: all of it is fixed text. Only such a word ends the options, since what a caller can
    /// spell the operator did not decide.
    Result<void> push(std::string word, std::string_view argument, bool fixed) {
        if (words.size() >= kMaxWords)
            return fail(ErrorCode::kInvalidArgs,
                        "the command would have too many words; send less");
        if (!argument.empty() && word.starts_with('-') && !options_ended_) {
            return fail(
                ErrorCode::kInvalidArgs,
                fmt::format("/{}: may not begin with -, the program would take it for an option",
                            argument));
        }
        options_ended_ = options_ended_ || (fixed && word == "--");
        words.push_back(std::move(word));
        return {};
    }

    json::Element arguments_;
    bool options_ended_ = false;
};

ArgvTemplate::Element ArgvTemplate::parse_text(const std::string& text) {
    Element element;
    std::string fixed;
    const auto end_fixed = [&] {
        if (!fixed.empty()) element.pieces.push_back({std::exchange(fixed, {}), false});
    };
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text[at] == '{' ? text.find('}', at) : text.npos;
        std::string_view name = end == text.npos
                                    ? std::string_view()
                                    : std::string_view(text).substr(at + 1, end - at - 1);
        const bool spread = name.ends_with("...") && at == 0 && end + 1 == text.size();
        if (spread) name.remove_suffix(3);
        if (!is_name(name)) {
            fixed += text[at++];
            continue;
        }
        end_fixed();
        element.pieces.push_back({std::string(name), true});
        element.spread = spread;
        at = end + 1;
    }
    end_fixed();
    if (element.pieces.empty()) element.pieces.push_back({});
    return element;
}

Result<std::vector<ArgvTemplate::Element>> ArgvTemplate::parse_list(const json::Value& list) {
    const json::Value::Items* items = list.as_array();
    if (!items) return fail(ErrorCode::kInvalidArgs, "argv must be a list");
    std::vector<Element> elements;
    for (const json::Value& item : *items) {
        if (const std::string* text = item.as_string()) {
            elements.push_back(parse_text(*text));
            continue;
        }
        const json::Value* condition = item.find("if");
        const json::Value* argv = item.find("argv");
        if (!condition || !condition->as_string() || !is_name(*condition->as_string()) || !argv ||
            item.as_object()->size() != 2) {
            return fail(ErrorCode::kInvalidArgs,
                        "an element of argv is a string or {if: name, argv: [...]}");
        }
        auto inner = parse_list(*argv);
        if (!inner) return inner;
        elements.push_back({.pieces = {},
                            .spread = false,
                            .condition = *condition->as_string(),
                            .inner = std::move(*inner)});
    }
    return elements;
}

Result<ArgvTemplate> ArgvTemplate::parse(const json::Value& list) {
    auto elements = parse_list(list);
    if (!elements) return fail(std::move(elements.error()));
    const bool fixed_program = !elements->empty() && elements->front().condition.empty() &&
                               elements->front().pieces.size() == 1 &&
                               !elements->front().pieces.front().is_argument &&
                               !elements->front().pieces.front().text.empty();
    if (!fixed_program)
        return fail(ErrorCode::kInvalidArgs, "argv must begin with the program, as fixed text");
    ArgvTemplate made;
    made.elements_ = std::move(*elements);
    return made;
}

Result<std::vector<std::string>> ArgvTemplate::expand(json::Element arguments) const {
    Expansion expansion(arguments);
    if (auto added = expansion.add(elements_); !added) return fail(std::move(added.error()));
    return std::move(expansion.words);
}

void ArgvTemplate::collect(const std::vector<Element>& elements, std::vector<std::string>& names) {
    for (const Element& element : elements) {
        if (!element.condition.empty()) names.push_back(element.condition);
        for (const Piece& piece : element.pieces) {
            if (piece.is_argument) names.push_back(piece.text);
        }
        collect(element.inner, names);
    }
}

std::vector<std::string> ArgvTemplate::names() const {
    std::vector<std::string> all;
    collect(elements_, all);
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
    return all;
}

}  // namespace crab::command
