#include "config/load.hpp"
#include "net/codec/gzip.hpp"

#include <cstddef>
#include <string>

namespace crab::config {

/// spec/config.schema.json, packed by scripts/embed_packed.py, and its size
std::string_view schema_packed();
std::size_t schema_size();

std::string_view schema_text() {
    static const std::string text = [] {
        std::string unpacked;
        net::gunzip(schema_packed(), schema_size(), unpacked);
        return unpacked;
    }();
    return text;
}

}  // namespace crab::config
