#include "net/codec/protobuf.hpp"

namespace crab::net {
namespace {

constexpr std::uint64_t kMostFieldNumber = (1U << 29) - 1;

}  // namespace

std::optional<std::uint64_t> ProtobufReader::varint() {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < 10 && i < rest_.size(); ++i) {
        const auto byte = static_cast<std::uint8_t>(rest_[i]);
        if (i == 9 && byte > 1) break;  // more than 64 bits
        value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            rest_.remove_prefix(i + 1);
            return value;
        }
    }
    return std::nullopt;
}

std::optional<std::uint64_t> ProtobufReader::fixed(std::size_t bytes) {
    if (rest_.size() < bytes) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i > 0; --i)
        value = value << 8 | static_cast<std::uint8_t>(rest_[i - 1]);
    rest_.remove_prefix(bytes);
    return value;
}

std::optional<ProtobufReader::Field> ProtobufReader::next() {
    if (rest_.empty() || failed_) return std::nullopt;
    failed_ = true;  // until the field has been read
    const auto key = varint();
    if (!key || *key >> 3 == 0 || *key >> 3 > kMostFieldNumber) return std::nullopt;
    Field field{.number = static_cast<std::uint32_t>(*key >> 3),
                .type = Type::kVarint,
                .value = 0,
                .bytes = {}};
    std::optional<std::uint64_t> value;
    switch (*key & 7) {
        case 0: value = varint(); break;
        case 1: value = fixed(8); break;
        case 2:
            value = varint();
            if (!value || *value > rest_.size()) return std::nullopt;
            field.bytes = rest_.substr(0, *value);
            rest_.remove_prefix(*value);
            break;
        case 5: value = fixed(4); break;
        default: return std::nullopt;  // groups, and what is no type
    }
    if (!value) return std::nullopt;
    field.type = static_cast<Type>(*key & 7);
    field.value = *value;
    failed_ = false;
    return field;
}

void ProtobufWriter::varint(std::uint64_t value) {
    while (value >= 0x80) {
        out_ += static_cast<char>(value | 0x80);
        value >>= 7;
    }
    out_ += static_cast<char>(value);
}

void ProtobufWriter::tag(std::uint32_t number, ProtobufReader::Type type) {
    varint(static_cast<std::uint64_t>(number) << 3 | static_cast<std::uint64_t>(type));
}

ProtobufWriter& ProtobufWriter::bytes(std::uint32_t number, std::string_view value) {
    return value.empty() ? *this : message(number, value);
}

ProtobufWriter& ProtobufWriter::number(std::uint32_t number, std::uint64_t value) {
    if (value == 0) return *this;
    tag(number, ProtobufReader::Type::kVarint);
    varint(value);
    return *this;
}

ProtobufWriter& ProtobufWriter::message(std::uint32_t number, std::string_view value) {
    tag(number, ProtobufReader::Type::kBytes);
    varint(value.size());
    out_ += value;
    return *this;
}

}  // namespace crab::net
