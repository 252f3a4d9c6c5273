#pragma once

#include "base/result.hpp"
#include "json/element.hpp"
#include "json/value.hpp"

#include <string>
#include <vector>

namespace crab::command {

/// The argument `name` as text of a word or a variable: a string as it is, a whole number in digits
/// (`100` for `100.0`), another number or a boolean in JSON spelling. Errors: kInvalidArgs for
/// null, lists, objects, NUL characters and anything else that is not valid in a word.
Result<std::string> word_of(std::string_view name, json::Element value);

/// Expands a call's arguments to the words of a command, without a shell. An element of the
/// template is text in which `{name}` stands for that argument (a string as it is, a number or
/// boolean in JSON spelling), `{name...}` alone (one word per item of a list), or `{if: name, argv:
/// [...]}`, which is included when the argument is true or present and not false. Source:
/// docs/protocols/sw4rm.md, section 11.
class ArgvTemplate {
public:
    /// Errors: kInvalidArgs when the list is invalid, empty, or does not start with fixed text.
    static Result<ArgvTemplate> parse(const json::Value& list);

    /// Errors: kInvalidArgs when an argument is missing, cannot stand in a word (objects, NUL), or
    /// would start a word with `-` where the template starts the word with an argument and no fixed
    /// `--` precedes it.
    Result<std::vector<std::string>> expand(json::Element arguments) const;
    /// The fixed first word.
    const std::string& program() const { return elements_.front().pieces.front().text; }
    /// Every argument that it mentions.
    std::vector<std::string> names() const;

private:
    struct Piece {
        std::string text;  ///< fixed text, or the name of an argument
        bool is_argument = false;
    };
    struct Element {
        std::vector<Piece> pieces;
        bool spread = false;  ///< `{name...}`
        std::string condition;  ///< of `{if: …}`; then `inner` counts
        std::vector<Element> inner;
    };
    class Expansion;

    static Result<std::vector<Element>> parse_list(const json::Value& list);
    static Element parse_text(const std::string& text);
    static void collect(const std::vector<Element>& elements, std::vector<std::string>& names);

    std::vector<Element> elements_;
};

}  // namespace crab::command
