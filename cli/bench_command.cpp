// `garuda bench`: the benchmarks' own command line, under this one.
#include "bench/bench_command.hpp"

#include "cli/commands.hpp"
#include "cli/interrupt.hpp"

namespace garuda::cli {

void add_bench_command(CLI::App& app, Context& context) { bench::add_bench_command(app, context.run, &interrupted()); }

}  // namespace garuda::cli
