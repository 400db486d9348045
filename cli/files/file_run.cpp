#include "cli/files/file_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"
#include "core/os/process.hpp"
#include "core/shortage.hpp"
#include "core/type_rows.hpp"
#include "garuda/error.hpp"
#include "garuda/table.hpp"
#include "io/row_format.hpp"
#include "io/table_reader.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/materialize/viewed_result.hpp"

namespace garuda::cli {
namespace {

/// Collects the first rows of a stream of batches.
class Preview {
 public:
  /// `shown`: the columns' types as they are printed. Both must outlive the preview.
  Preview(Schema const& schema, Schema const& shown) : schema_(schema), shown_(shown) {}

  /// Takes what it still wants of the next batch of the stream.
  Result<void> add(Batch const& batch);

  /// Names, types and rows in aligned columns, as many as fit `width` characters, then the number of rows in all.
  std::string to_text(std::size_t width) const;

 private:
  Schema const& schema_;
  Schema const& shown_;
  std::vector<std::vector<std::string>> rows_;
  std::uint64_t num_rows_ = 0;
};

constexpr std::int64_t kMostRows = 10;
constexpr std::size_t kMostCharacters = 32;
constexpr std::string_view kGap = "  ";

bool starts_character(char byte) noexcept { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

/// Number of code points of UTF-8 text.
std::size_t text_width(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

/// A value on one line of at most kMostCharacters: it may be pages long, and could move a terminal's cursor.
std::string cell(std::string_view text) {
  std::string result;
  std::size_t width = 0;
  for (char const c : text) {
    if (starts_character(c) && width++ == kMostCharacters - 1 && text_width(text) > kMostCharacters) {
      return result + "…";
    }
    bool const control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    result += control ? ' ' : c;
  }
  return result;
}

bool is_number(DataType const& type) noexcept {
  auto const family = type_row(type.id).family;
  return family >= TypeFamily::integer && family <= TypeFamily::decimal;
}

struct TextColumn {
  std::vector<std::string> cells;
  std::size_t width = 0;
  bool right = false;

  void add(std::string text) {
    width = std::max(width, text_width(text));
    cells.push_back(std::move(text));
  }
  std::string padded(std::size_t row) const {
    std::string const space(width - text_width(cells[row]), ' ');
    return right ? space + cells[row] : cells[row] + space;
  }
};

Result<void> Preview::add(Batch const& batch) {
  num_rows_ += static_cast<std::uint64_t>(batch.num_rows);
  auto const wanted = std::min(batch.num_rows, kMostRows - static_cast<std::int64_t>(rows_.size()));
  if (wanted <= 0) return {};
  GARUDA_TRY_ASSIGN(auto rows, io::format_rows(schema_, batch, wanted));
  std::move(rows.begin(), rows.end(), std::back_inserter(rows_));
  return {};
}

std::string Preview::to_text(std::size_t width) const {
  std::vector<TextColumn> columns;
  std::size_t used = 0;
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    TextColumn column;
    column.right = is_number(shown_[i].type);
    column.add(cell(schema_[i].name));
    column.add(cell(to_string(shown_[i].type)));
    for (auto const& row : rows_) column.add(cell(row[i]));
    used += column.width + kGap.size();
    if (used > width && !columns.empty()) break;
    columns.push_back(std::move(column));
  }
  std::string text;
  for (std::size_t row = 0; row < rows_.size() + 2; ++row) {
    std::string line;
    for (auto const& column : columns) line += fmt::format("{}{}", line.empty() ? "" : kGap, column.padded(row));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  if (columns.size() < schema_.size()) text += fmt::format("and {} columns more\n", schema_.size() - columns.size());
  if (num_rows_ > rows_.size()) text += "… ";
  return text + fmt::format("{} row{}\n", num_rows_, num_rows_ == 1 ? "" : "s");
}

/// Starts `garuda calibrate --missing` in a session of its own, without standard streams, and does not wait for it.
/// Where no process can be started, nothing happens: plans go on with assumed rates, and say so.
void calibrate_later() noexcept {
  static std::atomic_flag started;  // by an earlier command of a batch
  if (started.test_and_set()) return;
  try {
    os::start_detached({"garuda", "calibrate", "--missing"});
  } catch (std::exception const&) {  // no memory for the arguments: it is left to a later run
  }
}

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

Result<FileThreadLimit> FileThreadLimit::set(std::uint32_t threads) {
  if (threads == 0) return FileThreadLimit(0);
  GARUDA_TRY_ASSIGN(auto const before, io::set_arrow_threads(threads));
  return FileThreadLimit(before);
}

FileThreadLimit::FileThreadLimit(FileThreadLimit&& other) noexcept : before_(std::exchange(other.before_, 0)) {}

FileThreadLimit::~FileThreadLimit() {
  if (before_ != 0) (void)io::set_arrow_threads(before_);
}

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

Result<void> FileRun::take_result(std::unique_ptr<QueryResult> result) {
  say_plan(result->plan());
  if (!start_.file()) return show(*result);
  // Written strings lie behind offsets first: a file takes the bytes of every batch, not those of the tables.
  if (request_.strings == StringForm::view) result = materialize::viewed_result(std::move(result));
  return write(*result);
}

Result<void> FileRun::print(Result<Engine::Counted> const& counted) {
  if (!counted) return tl::unexpected(counted.error());
  say_plan(counted->plan);
  GARUDA_TRY(write_output(fmt::format("{}\n", counted->rows)));
  say_stats(counted->stats, counted->plan);
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
  keep_the_result();
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
