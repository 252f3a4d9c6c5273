#pragma once

#include "adapters/mcp/client/upstream_session.hpp"
#include "config/mcp_options.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace crab::gateway {

/// Which revision each MCP server was found to speak, kept in a file across starts: the probe can
/// take seconds. An answer that contradicts it is handled by the client. Its owner sees to it that
/// one thread at a time uses it.
/// Source: docs/protocols/mcp.md, section 2.8.
class McpEras {
public:
    /// A file that is missing or unreadable says nothing.
    explicit McpEras(std::filesystem::path file);

    /// What is known of a server, if its configuration is the same.
    std::optional<mcp::FoundEra> find(std::string_view source,
                                      const config::McpServerOptions& server) const;
    /// Writes the file if this is new. Blocks.
    void keep(const std::string& source, const config::McpServerOptions& server,
              const mcp::FoundEra& found);

private:
    struct Known {
        std::string server;  ///< digest of what it is
        mcp::FoundEra era;
        friend bool operator==(const Known&, const Known&) = default;
    };
    void write() const;

    const std::filesystem::path file_;
    std::map<std::string, Known, std::less<>> known_;
};

}  // namespace crab::gateway
