#include "bus/fields.hpp"

#include "bus/little_endian.hpp"

namespace crab::bus {
namespace {

constexpr std::size_t kFieldHead = sizeof(std::uint8_t) + sizeof(std::uint32_t);

}  // namespace

void FieldWriter::add_always(std::uint8_t number, std::string_view text) {
    append_little_endian(out_, number);
    append_little_endian(out_, static_cast<std::uint32_t>(text.size()));
    out_ += text;
}

void FieldWriter::add_number(std::uint8_t number, std::uint64_t value) {
    if (value == 0) return;
    append_little_endian(out_, number);
    append_little_endian(out_, static_cast<std::uint32_t>(sizeof value));
    append_little_endian(out_, value);
}

std::uint64_t FieldReader::Field::value() const {
    return bytes.size() == sizeof(std::uint64_t) ? Cursor(bytes).take<std::uint64_t>() : 0;
}

std::optional<FieldReader::Field> FieldReader::next() {
    if (rest_.empty()) return std::nullopt;
    Cursor head(rest_);
    Field field{.number = head.take<std::uint8_t>()};
    const auto length = head.take<std::uint32_t>();
    if (rest_.size() < kFieldHead || rest_.size() - kFieldHead < length) {
        broken_ = true;
        rest_ = {};
        return std::nullopt;
    }
    field.bytes = rest_.substr(kFieldHead, length);
    rest_.remove_prefix(kFieldHead + length);
    return field;
}

}  // namespace crab::bus
