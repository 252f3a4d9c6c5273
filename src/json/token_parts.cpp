#include "json/token_parts.hpp"

#include <bit>

namespace crab::json {
namespace {

bool is_behind_value(char byte) {
    return byte == ',' || byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

}  // namespace

std::string_view Source::raw(Element value) const {
    // an element is a position on the tape, and nothing else
    const auto at = std::bit_cast<simdjson::internal::tape_ref>(value);
    const std::size_t begin = begins_[at.json_index];
    const std::size_t next = at.after_element();
    if (value.is_object() || value.is_array())
        return text_.substr(begin, begins_[next - 1] + 1 - begin);
    std::size_t end = begins_[next];  // the next name, value or closing bracket
    while (is_behind_value(text_[end - 1])) --end;
    return text_.substr(begin, end - begin);
}

TokenParts::TokenParts(Source source, Element object) : source_(source) {
    Object members;
    if (object.get(members) != simdjson::SUCCESS) return;
    at_ = members.begin();
    end_ = members.end();
}

bool TokenParts::next() {
    if (begun_ && at_ != end_) ++at_;
    begun_ = true;
    return at_ != end_;
}

}  // namespace crab::json
