#include "base/process/process_stats.hpp"

#include "base/descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace crab {
namespace {

TEST(ProcessStats, WhatTheProcessUsesIsCounted) {
    const ProcessStats before = read_process_stats();
    EXPECT_GT(before.resident_bytes, std::uint64_t{1} << 20);
    EXPECT_GT(before.most_files, before.open_files);
    const Descriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(read_process_stats().open_files, before.open_files + 1);
    EXPECT_GE(read_process_stats().cpu_seconds, before.cpu_seconds);
}

}  // namespace
}  // namespace crab
