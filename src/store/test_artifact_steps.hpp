#pragma once

#include "base/test_clock.hpp"
#include "core/call/artifact_store.hpp"
#include "crypto/digest.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace crab::store {

/// What tests of stores of artifacts do, whatever the engine; they open `store`.
class ArtifactSteps {
protected:
    static core::Artifact announced(std::string_view content, std::uint64_t bytes = 0,
                                    std::string tenant = "home") {
        return {.tenant = std::move(tenant),
                .caller = "caller/ann",
                .owner = "device/kitchen",
                .call_id = "call-1",
                .tool = "kitchen__photo",
                .content_type = "image/jpeg",
                .sha256 = crypto::sha256_hex(content),
                .bytes = bytes};
    }
    Result<core::Artifact> put(std::string_view content, std::string tenant = "home") {
        auto upload = store->begin(announced(content, content.size(), std::move(tenant)));
        if (!upload) return fail(upload.error());
        if (auto written = (*upload)->append(content); !written) return fail(written.error());
        return (*upload)->finish();
    }

    FakeClock clock;
    core::ArtifactStore::Limits limits{.artifact_bytes = 100'000,
                                       .tenant_bytes = 200'000,
                                       .total_bytes = 300'000,
                                       .ttl = std::chrono::hours(1)};
    std::unique_ptr<core::ArtifactStore> store;
};

}  // namespace crab::store
