#pragma once

#include "adapters/mcp/auth/oauth_credentials.hpp"
#include "base/task/blocking_pool.hpp"
#include "crypto/key_folder.hpp"

#include <memory>

namespace crab::mcp {

/// The same in a file of mode 0600, `oauth.json`, that is replaced with each change. It is written
/// on a pool, soon and not before the function returns: what a crash loses is asked for anew or
/// needs another login. A failed write is logged, and the next change writes all.
class OAuthCredentialsFile final : public OAuthCredentialsMemory {
public:
    /// Reads it; blocks. `pool` outlives it and what it posts. Errors: those of the folder;
    /// kInvalidArgs for a file that cannot be read.
    static Result<std::unique_ptr<OAuthCredentialsFile>> open(crypto::KeyFolder folder,
                                                              BlockingPool& pool);

private:
    struct File;
    OAuthCredentialsFile(std::shared_ptr<File> file, BlockingPool& pool)
        : file_(std::move(file)), pool_(pool) {}
    bool read(std::string_view text);
    std::string dump() const;
    void on_change() override;

    std::shared_ptr<File> file_;  ///< of posted writes too
    BlockingPool& pool_;
};

}  // namespace crab::mcp
