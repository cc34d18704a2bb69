// SPDX-License-Identifier: Apache-2.0 OR MIT
/// \file
/// The gander command: `gander VERB FILE [ARGS] [OPTIONS]`.
#include "run.hpp"
#include "standard_streams.hpp"

int main(int argc, char** argv) {
    gander::cli::settle_standard_streams();
    return gander::cli::run({argv + (argc > 0 ? 1 : 0), argv + argc});
}
