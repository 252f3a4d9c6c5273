#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Protocol Buffers on the wire (proto3), as far as flat messages need it: no reflection, no
/// ownership.
namespace crab::net {

/// Reads the fields of one message in the order they come; texts are views into it.
class ProtobufReader {
public:
    enum class Type : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
    struct Field {
        std::uint32_t number = 0;
        Type type = Type::kVarint;
        std::uint64_t value = 0;     ///< of numbers
        std::string_view bytes;      ///< of kBytes

        bool is_bytes() const { return type == Type::kBytes; }
        bool is_varint() const { return type == Type::kVarint; }
    };

    explicit ProtobufReader(std::string_view message) : rest_(message) {}
    /// Nothing at the end of the message, and when it is malformed: then failed(). Groups count as
    /// malformed.
    std::optional<Field> next();
    bool failed() const { return failed_; }

private:
    std::optional<std::uint64_t> varint();
    std::optional<std::uint64_t> fixed(std::size_t bytes);

    std::string_view rest_;
    bool failed_ = false;
};

/// Appends the fields of one message. What has its default value is left out, as proto3 does.
class ProtobufWriter {
public:
    explicit ProtobufWriter(std::string& out) : out_(out) {}

    ProtobufWriter& bytes(std::uint32_t number, std::string_view value);
    ProtobufWriter& number(std::uint32_t number, std::uint64_t value);
    ProtobufWriter& boolean(std::uint32_t number, bool value) {
        return this->number(number, value ? 1 : 0);
    }
    /// A message inside this one, written even if it is empty: it has presence.
    ProtobufWriter& message(std::uint32_t number, std::string_view value);

private:
    void tag(std::uint32_t number, ProtobufReader::Type type);
    void varint(std::uint64_t value);

    std::string& out_;
};

}  // namespace crab::net
