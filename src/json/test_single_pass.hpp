#pragma once

#include "json/duplicates.hpp"
#include "json/raw_parts.hpp"
#include "json/single_pass.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace crab::json {

/// Reads a text in one pass and with simdjson alone, for tests and fuzzing.
class BothReaders {
public:
    explicit BothReaders(std::size_t max_depth) : max_depth_(max_depth) {}

    /// Empty: the two agree, or the one pass left the text to simdjson, which taken() says. Else
    /// what they differ in.
    std::string_view differ_in(std::string_view text) {
        const std::size_t room = text.size() + 1;
        padded_.assign(text);
        padded_.append(kPadding + simdjson::SIMDJSON_PADDING, '\0');
        auto words = std::make_unique<std::uint32_t[]>(room + simdjson::SIMDJSON_PADDING);
        simdjson::dom::document document;
        if (document.allocate(room) != simdjson::SUCCESS) return "memory";
        const auto facts =
            read_in_one_pass({padded_.data(), text.size()}, document, words.get(), max_depth_);
        taken_ = facts.has_value();
        if (!taken_) return {};
        simdjson::dom::parser parser;
        if (parser.allocate(room, max_depth_ + 1) != simdjson::SUCCESS) return "memory";
        if (parser.parse(padded_.data(), text.size(), false).error() != simdjson::SUCCESS)
            return "whether it is JSON";
        return differ_in(text, document, words.get(), *facts, parser);
    }
    bool taken() const { return taken_; }

private:
    static std::string_view differ_in(std::string_view text,
                                      const simdjson::dom::document& document,
                                      const std::uint32_t* begins, TextFacts facts,
                                      const simdjson::dom::parser& parser) {
        const std::size_t words = parser.doc.tape[0] & 0xffff'ffff;
        const auto same = [](const auto& left, const auto& right, std::size_t bytes) {
            return std::memcmp(left.get(), right.get(), bytes) == 0;
        };
        if (!same(document.tape, parser.doc.tape, words * sizeof(std::uint64_t))) return "tape";
        if (!same(document.string_buf, parser.doc.string_buf, bytes_of(parser.doc, words)))
            return "texts";
        auto expected = std::make_unique<std::uint32_t[]>(words);
        const auto& tokens = parser.implementation->structural_indexes;
        find_begins(parser.doc, text, tokens.get(), expected.get());
        for (std::size_t word = 1; word < words; ++word) {
            const char type = static_cast<char>(parser.doc.tape[word] >> 56);
            if (begins[word] != expected[word]) return "places";
            if (type == 'l' || type == 'd') ++word;
        }
        std::string compact;
        append_compact(compact, text);
        if (facts.compact != (compact == text)) return "white space";
        if (facts.repeats_names != has_duplicate(parser.doc.root())) return "names";
        return {};
    }
    /// That a document's strings take.
    static std::size_t bytes_of(const simdjson::dom::document& document, std::size_t words) {
        std::size_t end = 0;
        for (std::size_t word = 1; word < words; ++word) {
            const char type = static_cast<char>(document.tape[word] >> 56);
            if (type == 'l' || type == 'd') ++word;
            if (type != '"') continue;
            const std::size_t at = document.tape[word] & 0xffff'ffff'ffff'ff;
            std::uint32_t size;
            std::memcpy(&size, document.string_buf.get() + at, sizeof size);
            end = at + sizeof size + size + 1;
        }
        return end;
    }

    std::size_t max_depth_;
    std::string padded_;
    bool taken_ = false;
};

}  // namespace crab::json
