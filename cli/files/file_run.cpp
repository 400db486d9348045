#include "cli/files/file_run.hpp"

#include <fmt/format.h>

#include <utility>

#include "cli/files/file_threads.hpp"
#include "cli/files/later_calibration.hpp"
#include "cli/files/preview.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal/terminal.hpp"
#include "core/shortage.hpp"
#include "io/row_format.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/materialize/viewed_result.hpp"

namespace garuda::cli {
namespace {

std::string line_of(std::string_view text) { return fmt::format("garuda: {}\n", text); }

/// A shortage says what the memory limit would have had to hold, where that has refused a buffer.
Error naming_refusal(Error error) {
  auto const refusal = BufferCeiling::instance().last_refusal();
  if (!refusal || !contract::is_shortage(error)) return error;
  return std::move(error).wrap(
      fmt::format("--memory-limit is too small: a buffer of {} bytes is needed beside {} bytes in use",
                  refusal->asked_bytes, refusal->bytes_in_use));
}

}  // namespace

FileRun::FileRun(RunRequest& request, RunOptions& options, RunStart& start)
    : request_(request), options_(options), start_(start), bar_(!request.quiet && error_is_terminal()) {
  options.control.cancelled = &interrupted();
  options.control.on_progress = [this](Progress const& progress) { bar_.update(progress); };
  request.bytes_read = &bytes_read_;
  write_options_.threads = options.threads;
  write_options_.compression = request.compression;
  write_options_.packs_integers = !request.plain_integers;
  if (request.row_group_rows) write_options_.row_group_rows = *request.row_group_rows;
  if (auto const most = start.row_group_bytes()) {
    write_options_.writes_behind = false;
    write_options_.row_group_bytes = *most;
  }
}

Result<void> FileRun::run(std::function<Result<void>()> const& body) {
  GARUDA_TRY_ASSIGN(auto const thread_limit, FileThreadLimit::set(options_.threads));
  auto done = body();
  if (done && lacks_calibration_) calibrate_later();
  if (!done) done = tl::unexpected(naming_refusal(std::move(done).error()));
  auto const kept = start_.kept_for_writing();
  if (done || done.error().code() != ErrorCode::limit_exceeded || kept == 0) return done;
  return tl::unexpected(
      std::move(done).error().wrap(fmt::format("{} bytes of --memory-limit are kept for writing the result", kept)));
}

Result<std::shared_ptr<Engine>> FileRun::engine() {
  if (request_.output && start_.engine().is_on_its_way()) io::TableWriter::prepare(*request_.output);
  auto engine = start_.engine().take();
  times_.engine_ns = start_.engine().times().made_ns;
  times_.device_open_ns = start_.engine().times().opened_ns;
  times_.engine_wait_ns = start_.engine().times().waited_ns;
  lacks_calibration_ = engine && options_.path == Path::automatic && (*engine)->lacks_calibration();
  return engine;
}

Result<void> FileRun::take(std::unique_ptr<QueryResult> result) {
  say_plan(result->plan());
  if (!start_.file()) return show(*result);
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
  GARUDA_TRY_ASSIGN(auto writer, io::TableWriter::open(*std::move(start_.file()), result.schema(), write_options_));
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
  // Said before the file has its name: nothing fails afterwards, so a run that failed has no file.
  auto const stats = result.stats();
  auto const sentence =
      line_of(fmt::format("{} rows, {} bytes in {}", stats.rows_out, bytes, request_.output->string()));
  auto const numbers = stats_text(stats, result.plan());
  GARUDA_TRY(writer.commit());
  bar_.clear();
  if (!request_.quiet) write_error(sentence);
  write_error(numbers);
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
  if (!request_.quiet) write_error(line_of(text));
}

void FileRun::say_plan(Plan const& plan) {
  bool const says_why = request_.stats != StatsFormat::none && !plan.reason.empty();
  say(fmt::format("{} path on {}{}{}", to_string(plan.path), plan.device, says_why ? ": " : "",
                  says_why ? plan.reason : ""));
  for (auto const& note : plan.notes) say(note);
}

void FileRun::say_stats(RunStats const& stats, Plan const& plan) {
  bar_.clear();
  write_error(stats_text(stats, plan));
}

std::string FileRun::stats_text(RunStats const& stats, Plan const& plan) {
  times_.library_ns = start_.library_ns();
  times_.elapsed_ns = start_.watch().elapsed_ns();
  times_.read_bytes = bytes_read_.load();
  if (request_.stats == StatsFormat::table) return stats_table(stats, plan, times_);
  if (request_.stats == StatsFormat::json) return stats_json(stats, plan, times_) + "\n";
  return {};
}

}  // namespace garuda::cli
