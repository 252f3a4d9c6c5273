#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace crab::json {

/// What is known of a text once it has been read, beside its tree.
struct TextFacts {
    bool compact = false;        ///< no white space between its tokens, before or behind them
    bool repeats_names = false;  ///< some object, at any depth, has two members of one name
};

/// Bytes behind a text that read_in_one_pass() looks at; the first kZeros of them have to be 0.
constexpr std::size_t kPadding = 32, kZeros = 16;

/// Reads a JSON text (RFC 8259, strict UTF-8) into a document of simdjson, in one pass: for texts
/// of a few hundred bytes that takes half of what simdjson's own two passes do, which first look
/// for all tokens. It leaves to them whatever is rare in such texts (`\u` escapes, exponents,
/// numbers of many digits) and whatever is not JSON, so that they explain it: what this reads they
/// read alike, word by word (single_pass_test).
///
/// Nothing: the document means nothing, and the text has to be read otherwise. `text` is padded.
/// `document` has room for it; so has `begins`, an entry for each word of the tape, to which goes
/// where in the text each value, each name and each closing bracket begins.
std::optional<TextFacts> read_in_one_pass(std::string_view text, simdjson::dom::document& document,
                                          std::uint32_t* begins, std::size_t max_depth);

/// Fills `begins` for a document that simdjson has read; `tokens`: its structural indexes.
void find_begins(const simdjson::dom::document& document, std::string_view text,
                 const std::uint32_t* tokens, std::uint32_t* begins);

}  // namespace crab::json
