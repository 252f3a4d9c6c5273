#pragma once

#include "net/embedded_site.hpp"

#include <span>
#include <string>
#include <string_view>

namespace crab::app {

/// The page that makes a browser a device (web/device), at `/device/` below the path prefix. Its files are part of the program.
/// Thread-safe.
class DevicePage {
public:
    explicit DevicePage(std::string path_prefix) : root_(std::move(path_prefix) + "/device") {}

    bool owns(std::string_view path) const { return path == root_ || (path.starts_with(root_) && path[root_.size()] == '/'); }
    /// Answers a request for a path that it owns, whose Host and Origin were checked.
    void serve(net::HttpExchange& exchange) const;

private:
    std::string root_;
};

/// What scripts/embed_site.py made of the built page; empty in a build without it (CRAB_WEB=OFF).
std::span<const net::EmbeddedFile> device_page_files();

}  // namespace crab::app
