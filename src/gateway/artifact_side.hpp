#pragma once

#include "adapters/clawseed/hub.hpp"
#include "adapters/rtp/calls/artifacts_api.hpp"
#include "config/gateway_config.hpp"
#include "net/loop/periodic.hpp"
#include "store/sqlite/artifact_store_sqlite.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace crab::gateway {

/// Large results: their store in `<state_dir>/artifacts`, the threads that read and write it, and
/// the routes that callers fetch them by. Devices upload through clawseed::Front.
class ArtifactSide {
public:
    /// Errors: those of the store.
    static Result<std::unique_ptr<ArtifactSide>> open(const std::filesystem::path& folder,
                                                      const config::ArtifactOptions& options,
                                                      const Clock& clock, core::AuditLog& audit);

    /// Removes what has expired, every minute; for as long as what it returns lives, on `loop`.
    std::unique_ptr<net::Periodic> keep(net::EventLoop& loop);
    void set_options(const config::ArtifactOptions& options);
    void append_metrics(std::string& out, const clawseed::Uploads& uploads) const;

    core::ArtifactStore& store() { return *store_; }
    BlockingPool& pool() { return pool_; }
    rtp::ArtifactsApi& api() { return api_; }

private:
    ArtifactSide(std::unique_ptr<store::sqlite::ArtifactStoreSqlite> store, const Clock& clock,
                 core::AuditLog& audit);

    std::unique_ptr<store::sqlite::ArtifactStoreSqlite> store_;
    BlockingPool pool_{2};  ///< apart from the others, so that a slow disk delays only artifacts
    rtp::ArtifactsApi api_;
};

}  // namespace crab::gateway
