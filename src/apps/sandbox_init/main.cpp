#include "hosts/command/init/sandbox_init.hpp"

int main(int argc, char** argv) { return crab::sandbox::run_sandbox_init(argc - 1, argv + 1); }
