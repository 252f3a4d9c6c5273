// The short run of a fuzz target in an ordinary build: every file of the corpus, then mutations of
// it from a fixed seed, for some seconds at most. The long run is libFuzzer's (`cmake --workflow
// --preset fuzz`).

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(in), {});
}

void mutate(Bytes& bytes, std::mt19937& random) {
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
        const std::size_t at = bytes.empty() ? 0 : random() % bytes.size();
        switch (random() % 4) {
            case 0:
                if (!bytes.empty()) bytes[at] = static_cast<std::uint8_t>(random());
                break;
            case 1:
                bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                             static_cast<std::uint8_t>(random()));
                break;
            case 2:
                if (!bytes.empty()) bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at));
                break;
            default: bytes.resize(at); break;
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<Bytes> corpus{Bytes{}};
    for (int i = 1; i < argc; ++i) {
        if (!std::filesystem::is_directory(argv[i])) continue;
        for (const auto& entry : std::filesystem::directory_iterator(argv[i]))
            corpus.push_back(read_file(entry.path()));
    }
    for (const Bytes& bytes : corpus) LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    constexpr unsigned kSeed = 20'261;
    constexpr int kRuns = 20'000;
    constexpr std::clock_t kMostTime = std::clock_t{5} * CLOCKS_PER_SEC;  // of the processor
    std::mt19937 random(kSeed);
    int run = 0;
    for (; run < kRuns && std::clock() < kMostTime; ++run) {
        Bytes bytes = corpus[random() % corpus.size()];
        mutate(bytes, random);
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    }
    std::printf("%zu corpus files, %d mutations, seed %u: no failure\n", corpus.size() - 1, run,
                kSeed);
    return corpus.size() > 1 ? 0 : 1;
}
