// `garuda join`: two files in, a file, a preview or a number out.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/join_arguments.hpp"
#include "cli/join_inputs.hpp"
#include "cli/preview.hpp"
#include "cli/progress_bar.hpp"
#include "cli/run_stats.hpp"
#include "cli/terminal.hpp"
#include "cli/threads.hpp"
#include "garuda/engine.hpp"
#include "io/table_writer.hpp"

namespace garuda::cli {
namespace {

/// Nanoseconds since it was made.
class Stopwatch {
 public:
  std::uint64_t ns() const {
    auto const elapsed = std::chrono::steady_clock::now() - start_;
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// What a row group of the output may gather, and what is left of the limit for the join. Half a limit is enough for
/// any join; an eighth makes row groups whose raw bytes, encoded bytes and dictionaries stay within the other half.
struct MemoryShares {
  std::uint64_t join_bytes = 0;  ///< 0: no limit
  bool halved = false;           ///< a limit that cannot be kept is half of the one that was given
  io::WriteOptions write;

  explicit MemoryShares(JoinRequest const& request) : join_bytes(request.options.memory_limit_bytes) {
    write.threads = request.options.threads;
    if (join_bytes == 0 || !request.output) return;
    constexpr std::uint64_t kMostRowGroupBytes = 64 << 20;
    write.row_group_bytes = static_cast<std::int64_t>(std::clamp<std::uint64_t>(join_bytes / 8, 1, kMostRowGroupBytes));
    join_bytes = std::max<std::uint64_t>(1, join_bytes / 2);
    halved = request.options.device_memory_limit_bytes == 0;
  }
};

/// One run of the command, its parts in the order in which they have to end.
class JoinRun {
 public:
  explicit JoinRun(JoinRequest request)
      : request_(std::move(request)), bar_(!request_.quiet && error_is_terminal()), shares_(request_) {
    request_.options.memory_limit_bytes = shares_.join_bytes;
    request_.options.control.cancelled = &interrupted();
    request_.options.control.on_progress = [this](Progress const& progress) { bar_.update(progress); };
  }

  Result<void> run() {
    auto done = run_parts();
    if (done || done.error().code() != ErrorCode::limit_exceeded || !shares_.halved) return done;
    return tl::unexpected(std::move(done).error().wrap("half of --memory-limit is kept for writing the result"));
  }

 private:
  Result<void> run_parts() {
    GARUDA_TRY_ASSIGN(auto const thread_limit, ThreadLimit::set(request_.options.threads));
    std::optional<io::OutputFile> file;
    std::optional<TemporaryFileGuard> guard;
    if (request_.output) {
      // First of all, so that nobody waits for a result that has nowhere to go.
      GARUDA_TRY_ASSIGN(file, io::OutputFile::create(*request_.output));
      guard.emplace(file->temporary_path());
    }
    Stopwatch const reading;
    GARUDA_TRY_ASSIGN(auto const inputs, read_inputs(request_));
    times_.read_ns = reading.ns();
    GARUDA_TRY_ASSIGN(auto engine, Engine::create({.vulkan = request_.options.path != Path::cpu}));
    if (request_.count) return count(engine, inputs);
    GARUDA_TRY_ASSIGN(auto const result,
                      engine.join(inputs.left.view(), inputs.right.view(), request_.spec, request_.options));
    say_plan(result->plan());
    if (file) return write(*result, *std::move(file));
    return show(*result);
  }

  Result<void> count(Engine& engine, JoinInputs const& inputs) {
    GARUDA_TRY_ASSIGN(auto const counted,
                      engine.join_count(inputs.left.view(), inputs.right.view(), request_.spec, request_.options));
    say_plan(counted.plan);
    GARUDA_TRY(write_output(fmt::format("{}\n", counted.rows)));
    say_stats(counted.stats, counted.plan);
    return {};
  }

  Result<void> write(JoinResult& result, io::OutputFile file) {
    GARUDA_TRY_ASSIGN(auto writer, io::TableWriter::open(std::move(file), result.schema(), shares_.write));
    while (true) {
      GARUDA_TRY_ASSIGN(auto batch, result.next());
      if (!batch) break;
      Stopwatch const writing;
      GARUDA_TRY(writer.write(*std::move(batch)));
      times_.write_ns += writing.ns();
    }
    // The last moment at which the file can still be called off.
    if (interrupted()) return fail(ErrorCode::cancelled, "interrupted");
    Stopwatch const finishing;
    GARUDA_TRY_ASSIGN(auto const bytes, writer.finish());
    times_.write_ns += finishing.ns();
    auto const stats = result.stats();
    say(fmt::format("{} rows, {} bytes in {}", stats.rows_out, bytes, request_.output->string()));
    say_stats(stats, result.plan());
    return {};
  }

  Result<void> show(JoinResult& result) {
    Preview preview(result.schema());
    while (true) {
      GARUDA_TRY_ASSIGN(auto const batch, result.next());
      if (!batch) break;
      GARUDA_TRY(preview.add(*batch));
    }
    bar_.clear();
    GARUDA_TRY(write_output(preview.to_text(output_width())));
    say_stats(result.stats(), result.plan());
    return {};
  }

  void say(std::string_view text) {
    bar_.clear();
    if (!request_.quiet) write_error(fmt::format("garuda: {}\n", text));
  }

  void say_plan(Plan const& plan) {
    say(fmt::format("{} path on {}{}{}", to_string(plan.path), plan.device, plan.reason.empty() ? "" : ": ",
                    plan.reason));
    for (auto const& note : plan.notes) say(note);
  }

  void say_stats(RunStats const& stats, Plan const& plan) {
    bar_.clear();
    times_.elapsed_ns = watch_.ns();
    if (request_.stats == StatsFormat::table) write_error(stats_table(stats, times_));
    if (request_.stats == StatsFormat::json) write_error(stats_json(stats, plan, times_) + "\n");
  }

  Stopwatch watch_;
  JoinRequest request_;
  ProgressBar bar_;
  MemoryShares shares_;
  FileTimes times_;
};

int run(JoinArguments const& arguments) {
  auto request = to_request(arguments);
  if (!request) return report(request.error());
  return report(JoinRun(*std::move(request)).run());
}

}  // namespace

void add_join_command(CLI::App& app, Context& context) {
  auto& command = *app.add_subcommand("join", "join two files on equal keys");
  auto const arguments = std::make_shared<JoinArguments>();
  add_join_options(command, *arguments);
  command.footer(
      "Without --output, the first rows and the number of rows go to standard output.\n"
      "Examples:\n"
      "  garuda join customer.parquet orders.parquet --on c_custkey=o_custkey\n"
      "  garuda join a.csv b.csv --on id --columns left.name,right.total -o joined.csv\n"
      "  garuda join a.parquet b.parquet --on id --count --path graphics --device 0 --stats=json");
  command.callback([arguments, &context] { context.run = [arguments] { return run(*arguments); }; });
}

}  // namespace garuda::cli
