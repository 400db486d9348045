// `garuda bench`: the benchmarks' own command line, under this one.
#include "bench/bench_command.hpp"

#include <utility>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"

namespace garuda::cli {

void add_bench_command(CLI::App& app, Context& context) {
  auto const select = [&context](std::function<Result<void>()> run) {
    context.run = [run = std::move(run)] { return report(run()); };
  };
  bench::add_bench_command(app, select, &interrupted());
}

}  // namespace garuda::cli
