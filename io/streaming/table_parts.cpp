#include "io/streaming/table_parts.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "io/columns/row_bytes.hpp"
#include "io/file_format.hpp"

namespace garuda::io {
namespace {

bool all_have_row_groups(TableFiles const& files) {
  return std::ranges::all_of(files.files,
                             [](TableFile const& file) { return format_of(file.path) == FileFormat::parquet; });
}

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> TablePart::next() {
  GARUDA_TRY_ASSIGN(auto const batch, cursor_->next());
  if (batch == nullptr) return nullptr;
  auto const plain = plain_batch(*batch);
  // Files come from anywhere, and what follows trusts offsets and indices.
  GARUDA_ARROW_TRY(dictionaries_.validate({plain}, 1), ErrorCode::invalid_input, file_->sentence);
  GARUDA_ARROW_TRY_ASSIGN(auto const batches, dictionaries_.without_null_values({plain}), ErrorCode::invalid_input,
                          file_->sentence);
  if (schema_ == nullptr) return batches.front();
  GARUDA_ARROW_TRY_ASSIGN(auto const fitting, batches.front()->SelectColumns(positions_), ErrorCode::invalid_input,
                          file_->sentence);
  GARUDA_ARROW_TRY_ASSIGN(auto const rows, folders_->complete(*fitting, index_), ErrorCode::invalid_input,
                          file_->sentence);
  return arrow::RecordBatch::Make(schema_, rows->num_rows(), rows->columns());
}

double TablePart::fraction_read() const noexcept {
  auto const of_file = std::clamp(fraction_before_ + cursor_->fraction_read(), 0.0, 1.0);
  return (static_cast<double>(index_) + of_file) / static_cast<double>(num_files_);
}

Result<std::unique_ptr<TableParts>> TableParts::open(TableFiles const& files, ReadOptions const& options,
                                                     std::int64_t batch_rows, std::uint64_t ahead_bytes) {
  std::unique_ptr<TableParts> parts(new TableParts(files, batch_rows));
  GARUDA_TRY_ASSIGN(auto folders, FolderColumns::make(parts->files_, options));
  parts->folders_ = std::make_shared<FolderColumns>(std::move(folders));
  GARUDA_TRY(parts->open_file());
  auto const& file = *parts->file_;
  if (ahead_bytes > 0 && all_have_row_groups(files)) {
    // The rest is for batches that wait.
    auto const of_part = std::max<std::uint64_t>(file.reader->row_groups()->stream_bytes(file.columns), 1);
    parts->side_by_side_ = std::max<std::size_t>(ahead_bytes / 2 / of_part, 1);
    GARUDA_TRY(parts->find_row_groups());
  }
  GARUDA_TRY_ASSIGN(parts->first_, parts->part_of_file());
  return parts;
}

Result<void> TableParts::open_file() {
  auto const index = num_opened_++;
  auto const& path = files_.files[index].path;
  auto const& options = folders_->file_options();
  GARUDA_TRY_ASSIGN(auto file, choose_columns(path, options));
  file_ = std::make_shared<ChosenColumns>(std::move(file));
  next_in_file_ = 0;
  positions_.clear();
  GARUDA_TRY(find_row_groups());
  if (num_counted_ > index) return {};
  num_counted_ = num_opened_;
  count_read(*file_, options);
  return {};
}

/// The row groups of the file are parts where there are several that may be read side by side.
Result<void> TableParts::find_row_groups() {
  row_groups_.clear();
  if (side_by_side_ < 2) return {};
  GARUDA_TRY_ASSIGN(row_groups_, file_->reader->row_groups()->wanted(folders_->file_options()));
  if (row_groups_.size() < 2) row_groups_.clear();
  return {};
}

Result<std::unique_ptr<TablePart>> TableParts::part_of_file() {
  std::unique_ptr<TablePart> part(new TablePart);
  part->file_ = file_;
  part->folders_ = folders_;
  part->index_ = num_opened_ - 1;
  part->num_files_ = files_.files.size();
  auto const place = next_in_file_++;
  auto options = folders_->file_options();
  auto& reader = *file_->reader;
  if (row_groups_.empty()) {
    GARUDA_TRY_ASSIGN(part->cursor_, reader.stream(file_->columns, options, batch_rows_));
  } else {
    options.threads = 1;
    GARUDA_TRY_ASSIGN(part->cursor_,
                      reader.row_groups()->stream(file_->columns, options, batch_rows_, row_groups_[place]));
    // A cursor's share is of its whole file.
    auto const rows = reader.row_groups()->rows();
    auto const all = std::max<std::int64_t>(std::accumulate(rows.begin(), rows.end(), std::int64_t{0}), 1);
    auto const before = std::accumulate(rows.begin(), rows.begin() + row_groups_[place], std::int64_t{0});
    part->fraction_before_ = static_cast<double>(before) / static_cast<double>(all);
  }
  std::vector<int> columns(file_->columns.size());
  std::iota(columns.begin(), columns.end(), 0);
  auto const schema = select(*part->cursor_->schema(), columns);
  if (first_schema_ == nullptr) {
    first_schema_ = schema;
    schema_ = folders_->schema(*schema);
    if (!files_.is_one()) {
      // Whether a column may have nulls can differ between files.
      arrow::FieldVector fields;
      for (auto const& field : schema_->fields()) fields.push_back(field->WithNullable(true));
      schema_ = arrow::schema(std::move(fields));
    }
  }
  if (files_.is_one()) return part;
  if (positions_.empty()) {
    auto const& path = files_.files.front().path;
    if (first_file_ == nullptr) first_file_ = file_->reader->schema();
    GARUDA_TRY(check_all_columns(*first_file_, path, *file_->reader->schema(), files_.files[part->index_].path));
    GARUDA_TRY_ASSIGN(positions_,
                      fit_schema(*first_schema_, path.string(), *schema, files_.files[part->index_].path.string()));
  }
  part->positions_ = positions_;
  part->schema_ = schema_;
  return part;
}

Result<std::unique_ptr<TablePart>> TableParts::next() {
  if (first_ != nullptr) return std::move(first_);
  if (at_end_of_file()) {
    if (num_opened_ == files_.files.size()) return nullptr;
    GARUDA_TRY(open_file());
  }
  return part_of_file();
}

Result<void> TableParts::restart(std::size_t part) {
  first_.reset();
  num_opened_ = 0;
  GARUDA_TRY(open_file());
  for (; part > 0; --part) {
    ++next_in_file_;
    if (at_end_of_file() && num_opened_ < files_.files.size()) GARUDA_TRY(open_file());
  }
  return {};
}

ReadAhead::ReadAhead(std::shared_ptr<TableParts> parts, std::size_t threads, std::uint64_t bytes)
    : parts_(std::move(parts)), most_bytes_(bytes) {
  threads_.reserve(threads);
  try {
    while (threads_.size() < threads) threads_.emplace_back([this] { work(); });
  } catch (std::exception const&) {
    // Those that there are read all parts.
  }
}

ReadAhead::~ReadAhead() {
  {
    std::lock_guard const lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

Result<ReadAhead::Rows> ReadAhead::next() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] {
      if (exception_) return true;
      return slots_.empty() ? at_end_ : slots_.front()->is_read || !slots_.front()->waiting.empty();
    });
    if (exception_) std::rethrow_exception(exception_);
    if (slots_.empty()) return Rows{nullptr, 1.0};
    auto& first = *slots_.front();
    if (!first.waiting.empty()) {
      auto [rows, bytes] = std::move(first.waiting.front());
      first.waiting.pop_front();
      bytes_ -= bytes;
      rows_of_part_ += rows.batch->num_rows();
      lock.unlock();
      changed_.notify_all();
      return rows;
    }
    if (!first.outcome) return tl::unexpected(first.outcome.error());
    slots_.pop_front();
    ++first_;
    rows_of_part_ = 0;
    changed_.notify_all();  // another part's turn has come
  }
}

void ReadAhead::work() noexcept {
  try {
    while (read_next_part()) continue;
  } catch (...) {
    std::lock_guard const lock(mutex_);
    exception_ = std::current_exception();
    at_end_ = true;
  }
  changed_.notify_all();
}

/// False: no more are to be read.
bool ReadAhead::read_next_part() {
  std::unique_lock opening(opening_);
  std::size_t number = 0;
  {
    std::lock_guard const lock(mutex_);
    if (at_end_ || stopped_) return false;
    number = first_ + slots_.size();
    slots_.push_back(std::make_unique<Slot>());
  }
  auto part = parts_->next();
  opening.unlock();
  Result<void> outcome;
  if (part && *part != nullptr) {
    outcome = read_rest(**part, number);
  } else if (!part) {
    outcome = propagate(std::move(part));
  }
  bool const is_last = !outcome || *part == nullptr;
  std::lock_guard const lock(mutex_);
  auto& read = slot(number);
  read.outcome = std::move(outcome);
  read.is_read = true;
  at_end_ = at_end_ || is_last;
  changed_.notify_all();
  return !at_end_;
}

Result<void> ReadAhead::read_rest(TablePart& part, std::size_t number) {
  while (true) {
    GARUDA_TRY_ASSIGN(auto batch, part.next());
    if (batch == nullptr || !leave(number, Rows{std::move(batch), part.fraction_read()})) return {};
  }
}

/// Waits until the batch may be left; false: nobody wants it any more.
bool ReadAhead::leave(std::size_t number, Rows rows) {
  auto const bytes = static_cast<std::uint64_t>(row_bytes(*rows.batch));
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return stopped_ || bytes_ + bytes <= most_bytes_ || (number == first_ && slot(number).waiting.empty());
  });
  if (stopped_) return false;
  slot(number).waiting.push_back({std::move(rows), bytes});
  bytes_ += bytes;
  changed_.notify_all();
  return true;
}

}  // namespace garuda::io
