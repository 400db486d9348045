// `garuda bench`: the benchmarks' own command line, under this one.
#include "bench/bench_command.hpp"

#include <filesystem>
#include <utility>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/file_commands.hpp"
#include "cli/interrupt.hpp"

namespace garuda::cli {

void add_bench_command(CLI::App& app, Context& context) {
  auto const select = [&context](std::function<Result<void>()> run) {
    context.run = [run = std::move(run)] { return report(run()); };
  };
  auto const write_table = [](std::filesystem::path const& file, Table const& table) -> Result<void> {
    GARUDA_TRY_ASSIGN(auto const* const commands, load_file_commands());
    return commands->write_table(file, table);
  };
  bench::add_bench_command(app, select, write_table, &interrupted());
}

}  // namespace garuda::cli
