#include "trust/pairing/canonical_writer.hpp"

#include <utility>

#include <fmt/format.h>

namespace crab::trust {
namespace {

// The only two characters outside ASCII that are escaped: E2 80 A8 and E2 80 A9.
constexpr std::string_view kLineSeparator = "\xe2\x80\xa8";
constexpr std::string_view kParagraphSeparator = "\xe2\x80\xa9";

}  // namespace

CanonicalWriter& CanonicalWriter::text(std::string_view name, std::string_view value) {
    key(name);
    quote(value);
    return *this;
}

CanonicalWriter& CanonicalWriter::texts(std::string_view name,
                                        const std::vector<std::string>& values) {
    key(name);
    out_ += '[';
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i > 0) out_ += ',';
        quote(values[i]);
    }
    out_ += ']';
    return *this;
}

CanonicalWriter& CanonicalWriter::begin(std::string_view name) {
    key(name);
    out_ += '{';
    return *this;
}

CanonicalWriter& CanonicalWriter::end() {
    out_ += '}';
    return *this;
}

std::string CanonicalWriter::take() && {
    out_ += '}';
    return std::move(out_);
}

void CanonicalWriter::key(std::string_view name) {
    if (out_.back() != '{') out_ += ',';
    quote(name);
    out_ += ':';
}

void CanonicalWriter::quote(std::string_view value) {
    out_ += '"';
    for (std::size_t i = 0; i < value.size(); ++i) {
        const char c = value[i];
        const std::string_view three = value.substr(i, 3);
        if (c == '"' || c == '\\') {
            out_ += '\\';
            out_ += c;
        } else if (c == '\n') {
            out_ += "\\n";
        } else if (c == '\r') {
            out_ += "\\r";
        } else if (c == '\t') {
            out_ += "\\t";
        } else if (static_cast<unsigned char>(c) < 0x20 || c == '<' || c == '>' || c == '&') {
            fmt::format_to(std::back_inserter(out_), "\\u{:04x}", static_cast<unsigned char>(c));
        } else if (three == kLineSeparator || three == kParagraphSeparator) {
            out_ += three == kLineSeparator ? "\\u2028" : "\\u2029";
            i += 2;
        } else {
            out_ += c;
        }
    }
    out_ += '"';
}

}  // namespace crab::trust
