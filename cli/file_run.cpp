#include "cli/file_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "cli/arguments/threads.hpp"
#include "cli/later_calibration.hpp"
#include "cli/terminal/preview.hpp"
#include "cli/terminal/standard_streams.hpp"
#include "cli/terminal/terminal.hpp"
#include "core/os/memory.hpp"
#include "io/row_format.hpp"
#include "operators/materialize/viewed_result.hpp"
#include "operators/run/host_memory.hpp"

namespace garuda::cli {
namespace {

/// Large blocks are mappings, which go back when they are freed. The C library would otherwise raise its threshold with
/// every one that is freed, up to 32 MiB, and the holes of its heaps, one a thread, count against a memory limit.
void give_freed_memory_back() noexcept { os::give_freed_memory_back(1 << 20); }

}  // namespace

FileRun::FileRun(RunRequest& request, RunOptions& options)
    : request_(request), options_(options), bar_(!request.quiet && error_is_terminal()) {
  options.control.cancelled = &interrupted();
  options.control.on_progress = [this](Progress const& progress) { bar_.update(progress); };
  request.bytes_read = &bytes_read_;
  write_options_.threads = options.threads;
  write_options_.compression = request.compression;
  write_options_.packs_integers = !request.plain_integers;
  if (request.row_group_rows) write_options_.row_group_rows = *request.row_group_rows;
  if (options.memory_limit_bytes == 0) {
    // Reading comes before any engine's query, and wants its buffers again and again.
    KeptMemory::instance().set_limit(run::most_kept_host_bytes());
    return;
  }
  keep_within(options.memory_limit_bytes);
  if (!request.output) return;
  write_options_.writes_behind = false;
  // Raw bytes, encoded bytes and dictionaries of a row group stay within four times its size, which is half the limit
  // at most; the rest is the operator's.
  constexpr std::uint64_t kMostRowGroupBytes = 64 << 20;
  auto const row_group_bytes = std::clamp<std::uint64_t>(options.memory_limit_bytes / 8, 1, kMostRowGroupBytes);
  write_options_.row_group_bytes = static_cast<std::int64_t>(row_group_bytes);
  auto const kept = std::min(4 * row_group_bytes, options.memory_limit_bytes - 1);
  options.memory_limit_bytes -= kept;
  if (options.device_memory_limit_bytes == 0) kept_for_writing_ = kept;
}

/// Takes shares of the limit for memory that is freed and not given back.
void FileRun::keep_within(std::uint64_t& limit_bytes) {
  constexpr std::uint64_t kShare = 16;
  /// Less holds no column of a row group.
  constexpr std::uint64_t kLeastBytes = 4 << 20;
  /// Of a heap of the C library; each thread may have one.
  constexpr std::uint64_t kHeapBytes = 64 << 20;
  auto const threads = options_.threads != 0 ? options_.threads : std::thread::hardware_concurrency();
  auto const share = limit_bytes / kShare;
  if (share < kLeastBytes) {
    KeptMemory::instance().set_limit(0);
    return give_freed_memory_back();
  }
  kept_beside_limit_ = share;
  limit_bytes -= share;
  KeptMemory::instance().set_limit(share);
  if (threads * kHeapBytes > share)
    give_freed_memory_back();
  else
    limit_bytes -= share;
}

Result<void> FileRun::run(std::function<Result<void>()> const& body) {
  GARUDA_TRY_ASSIGN(auto const thread_limit, ThreadLimit::set(options_.threads));
  if (request_.output) {
    // First of all, so that nobody waits for a result that has nowhere to go.
    GARUDA_TRY_ASSIGN(file_, os::OutputFile::create(*request_.output));
    guard_.emplace(file_->temporary_path());
  } else {
    GARUDA_TRY(check_output_is_open());
  }
  engine_.emplace(options_, kept_beside_limit_, request_.input_bytes);
  auto done = body();
  if (done && lacks_calibration_) calibrate_later();
  if (done || done.error().code() != ErrorCode::limit_exceeded || kept_for_writing_ == 0) return done;
  return tl::unexpected(std::move(done).error().wrap(
      fmt::format("{} bytes of --memory-limit are kept for writing the result", kept_for_writing_)));
}

Result<std::shared_ptr<Engine>> FileRun::engine() {
  auto engine = engine_->take();
  times_.engine_ns = engine_->times().made_ns;
  times_.device_open_ns = engine_->times().opened_ns;
  times_.engine_wait_ns = engine_->times().waited_ns;
  lacks_calibration_ = engine && options_.path == Path::automatic && (*engine)->lacks_calibration();
  return engine;
}

Result<void> FileRun::take(std::unique_ptr<QueryResult> result) {
  say_plan(result->plan());
  if (!file_) return show(*result);
  // What is written lies behind offsets first: a file takes the bytes of every batch, not those of the tables.
  if (request_.strings == StringForm::view) result = materialize::viewed_result(std::move(result));
  return write(*result);
}

Result<void> FileRun::print_number(std::uint64_t number, RunStats const& stats, Plan const& plan) {
  say_plan(plan);
  GARUDA_TRY(write_output(fmt::format("{}\n", number)));
  say_stats(stats, plan);
  return {};
}

Result<void> FileRun::write(QueryResult& result) {
  GARUDA_TRY_ASSIGN(auto writer, io::TableWriter::open(*std::move(file_), result.schema(), write_options_));
  while (true) {
    GARUDA_TRY_ASSIGN(auto batch, result.next());
    if (!batch) break;
    Stopwatch const writing;
    GARUDA_TRY(writer.write(*std::move(batch)));
    times_.write_ns += writing.elapsed_ns();
  }
  // The last moment at which the file can still be called off.
  if (interrupted()) return fail(ErrorCode::cancelled, "interrupted");
  Stopwatch const finishing;
  GARUDA_TRY_ASSIGN(auto const bytes, writer.finish());
  times_.write_ns += finishing.elapsed_ns();
  times_.write_bytes = bytes;
  auto const stats = result.stats();
  say(fmt::format("{} rows, {} bytes in {}", stats.rows_out, bytes, request_.output->string()));
  say_stats(stats, result.plan());
  return {};
}

Result<void> FileRun::show(QueryResult& result) {
  GARUDA_TRY_ASSIGN(auto const shown, io::shown_schema(result.schema()));
  Preview preview(result.schema(), shown);
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

void FileRun::say(std::string_view text) {
  bar_.clear();
  if (!request_.quiet) write_error(fmt::format("garuda: {}\n", text));
}

void FileRun::say_plan(Plan const& plan) {
  bool const says_why = request_.stats != StatsFormat::none && !plan.reason.empty();
  say(fmt::format("{} path on {}{}{}", to_string(plan.path), plan.device, says_why ? ": " : "",
                  says_why ? plan.reason : ""));
  for (auto const& note : plan.notes) say(note);
}

void FileRun::say_stats(RunStats const& stats, Plan const& plan) {
  bar_.clear();
  times_.elapsed_ns = watch_.elapsed_ns();
  times_.read_bytes = bytes_read_.load();
  if (request_.stats == StatsFormat::table) write_error(stats_table(stats, plan, times_));
  if (request_.stats == StatsFormat::json) write_error(stats_json(stats, plan, times_) + "\n");
}

}  // namespace garuda::cli
