#pragma once

#include "config/yaml_document.hpp"

#include <memory>
#include <string_view>
#include <utility>

namespace crab::config {

/// The document that a configuration was read from as it is written, references included, so that
/// it holds no secret that the file does not hold. Two are always equal: where a key stands, and
/// how it is written, changes nothing. Cheap to copy; immutable.
class ConfigOrigin {
public:
    ConfigOrigin() = default;
    explicit ConfigOrigin(YamlDocument written)
        : written_(std::make_shared<const YamlDocument>(std::move(written))) {}

    /// Null: there is no file, all are defaults.
    const json::Value* value() const { return written_ ? &written_->value : nullptr; }
    /// Of the value at that RFC 6901 pointer, else of its nearest parent, from 1; 0: there is no
    /// file.
    int line_of(std::string_view pointer) const {
        return written_ ? written_->line_of(pointer) : 0;
    }
    friend bool operator==(const ConfigOrigin&, const ConfigOrigin&) { return true; }

private:
    std::shared_ptr<const YamlDocument> written_;
};

}  // namespace crab::config
